#include "phases/durable.hpp"
#include "phases/field_file.hpp"
#include "phases/ranks.hpp"
#include "phases/way.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kTrackedBytes = 512 << 10;

class FilePerProcess : public Way {
 public:
  FilePerProcess(const Options& options, int rank, bool deflate, bool core)
      : options_(options), rank_(rank), deflate_(deflate), core_(core), access_(property_list(H5P_FILE_ACCESS)) {}

  void write(int phase, const Fields& fields) override {
    const Grid& grid = fields.grid();
    Writing writing{access_, H5P_DEFAULT, levels_in(grid, fields.slab().count, options_.transfer), 0};
    if (deflate_) writing.levels_per_chunk = levels_in(grid, fields.slab().count, options_.chunk);
    // The core driver asks for this much memory whenever its file grows beyond what it has: for all of it at once.
    if (core_) need(H5Pset_fapl_core(access_, fields.bytes(), true), "choose the core driver");
    // Or each of the flushes of a close writes all of it.
    if (core_) need(H5Pset_core_write_tracking(access_, true, kTrackedBytes), "let the core driver write only what is new");
    const std::string path = file_name(options_, phase, "r" + std::to_string(rank_));
    FieldFile file(path, grid, fields.slab(), writing);
    for (int field = 0; field < kFields; ++field) file.write(field, {{fields.slab(), fields[field]}});
    file.close();
    if (options_.sync) make_durable(path);
  }

 private:
  Options options_;
  int rank_;
  bool deflate_, core_;
  Handle access_;
};

}  // namespace

std::unique_ptr<Way> file_per_process(const Options& options, MPI_Comm processes) {
  return std::make_unique<FilePerProcess>(options, rank_in(processes), options.way == "file-per-process-deflate",
                                          options.way == "file-per-process-core");
}

}  // namespace damaris::bench
