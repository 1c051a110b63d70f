#include "phases/durable.hpp"
#include "phases/field_file.hpp"
#include "phases/groups.hpp"
#include "phases/quiet_barrier.hpp"
#include "phases/way.hpp"

namespace damaris::bench {
namespace {

class SharedFile : public Way {
 public:
  SharedFile(const Options& options, MPI_Comm processes, int groups, H5FD_mpio_xfer_t transfer)
      : options_(options),
        group_(processes, groups),
        access_(property_list(H5P_FILE_ACCESS)),
        transfer_(property_list(H5P_DATASET_XFER)) {
    MPI_Comm_rank(group_.members, &member_);
    MPI_Info hints = MPI_INFO_NULL;
    if (options.stripe != 0) {
      MPI_Info_create(&hints);
      MPI_Info_set(hints, "striping_unit", std::to_string(options.stripe).c_str());
    }
    need(H5Pset_fapl_mpio(access_, group_.members, hints), "choose MPI-IO");
    if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
    // What a tuned program asks for: one process writes the metadata of all.
    need(H5Pset_coll_metadata_write(access_, true), "join the writes of metadata");
    need(H5Pset_dxpl_mpio(transfer_, transfer), "choose how MPI-IO writes");
  }

  void write(int phase, const Fields& fields) override {
    const Grid& grid = fields.grid();
    const std::uint64_t rows = grid.largest_slab_rows(group_.processes);
    const Writing writing{access_, transfer_, levels_in(grid, rows, options_.transfer), 0};
    const std::string path = file_name(options_, phase, "g" + std::to_string(group_.index));
    FieldFile file(path, grid, group_.slab(grid), writing);
    for (int field = 0; field < kFields; ++field) file.write(field, {{fields.slab(), fields[field]}});
    file.close();
    if (options_.sync) sync(path);
  }

 private:
  // One process is enough: all have the file's pages in the same cache.
  void sync(const std::string& path) const {
    if (member_ == 0) make_durable(path);
    quiet_barrier(group_.members);
  }

  Options options_;
  Group group_;
  int member_ = 0;
  Handle access_, transfer_;
};

}  // namespace

std::unique_ptr<Way> shared_file(const Options& options, MPI_Comm processes) {
  const int groups = options.way == "grouped" ? options.groups : 1;
  return std::make_unique<SharedFile>(options, processes, groups,
                                      options.way == "independent" ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
}

}  // namespace damaris::bench
