#include "phases/way.hpp"

namespace damaris::bench {

std::vector<std::string> way_names() {
  return {
      "file-per-process", "file-per-process-deflate", "file-per-process-core", "collective", "grouped", "independent", "one-writer",
      "damaris"};
}

std::unique_ptr<Way> make_way(const Options& options, const Grid& grid, MPI_Comm processes) {
  if (options.dedicated()) return through_damaris(grid, processes);
  if (options.way == "one-writer") return one_writer(options, processes);
  if (options.way.rfind("file-per-process", 0) == 0) return file_per_process(options, processes);
  return shared_file(options, processes);
}

}  // namespace damaris::bench
