#include "phases/way.hpp"

namespace damaris::bench {
namespace {

bool is_adios2(const std::string& way) { return way.rfind("adios2", 0) == 0; }

}  // namespace

std::vector<std::string> way_names() {
  return {"file-per-process",
          "file-per-process-deflate",
          "file-per-process-core",
          "collective",
          "grouped",
          "independent",
          "one-writer",
          "adios2",
          "adios2-async",
          "damaris",
          "damaris-deflate"};
}

std::string why_not_built(const std::string& way) {
  if (DAMARIS_BENCH_ADIOS2 || !is_adios2(way)) return "";
  return "ADIOS2 was not found when this was built; ./dev setup installs it into .venv, or let CMAKE_PREFIX_PATH name its place: "
         "then ./dev build";
}

std::unique_ptr<Way> make_way(const Options& options, const Grid& grid, MPI_Comm processes) {
  if (options.dedicated()) return through_damaris(grid, processes);
#if DAMARIS_BENCH_ADIOS2
  if (is_adios2(options.way)) return through_adios2(options, grid, processes);
#endif
  if (options.way == "one-writer") return one_writer(options, processes);
  if (options.way.rfind("file-per-process", 0) == 0) return file_per_process(options, processes);
  return shared_file(options, processes);
}

}  // namespace damaris::bench
