#include "phases/durable.hpp"
#include "phases/field_file.hpp"
#include "phases/groups.hpp"
#include "phases/way.hpp"

namespace damaris::bench {
namespace {

class OneWriter : public Way {
 public:
  OneWriter(const Options& options, MPI_Comm processes) : options_(options), group_(processes, options.groups) {
    MPI_Comm_rank(group_.members, &member_);
  }

  void write(int phase, const Fields& fields) override {
    if (member_ != 0) {
      for (int field = 0; field < kFields; ++field) send(fields, field);
      return;
    }
    const Grid& grid = fields.grid();
    const std::uint64_t rows = grid.largest_slab_rows(group_.processes);
    const Writing writing{H5P_DEFAULT, H5P_DEFAULT, levels_in(grid, rows, options_.transfer), 0};
    const std::string path = file_name(options_, phase, "g" + std::to_string(group_.index));
    FieldFile file(path, grid, group_.slab(grid), writing);
    for (int field = 0; field < kFields; ++field) file.write(field, receive(fields, field));
    file.close();
    if (options_.sync) make_durable(path);
  }

 private:
  void send(const Fields& fields, int field) const {
    MPI_Gatherv(fields[field], static_cast<int>(fields.grid().values(fields.slab())), MPI_FLOAT, nullptr, nullptr, nullptr,
                MPI_FLOAT, 0, group_.members);
  }

  // The field of all members, the writer's own without a copy.
  std::vector<Piece> receive(const Fields& fields, int field) {
    const Grid& grid = fields.grid();
    std::vector<int> counts, places;
    std::vector<Piece> pieces;
    buffer_.resize(grid.values(group_.slab(grid)));
    int place = 0;
    for (int member = 0; member < group_.size; ++member) {
      const Slab slab = group_.slab(grid, member);
      places.push_back(place);
      counts.push_back(member == 0 ? 0 : static_cast<int>(grid.values(slab)));
      pieces.push_back({slab, member == 0 ? fields[field] : buffer_.data() + place});
      place += counts.back();
    }
    MPI_Gatherv(MPI_IN_PLACE, 0, MPI_FLOAT, buffer_.data(), counts.data(), places.data(), MPI_FLOAT, 0, group_.members);
    return pieces;
  }

  Options options_;
  Group group_;
  int member_ = 0;
  std::vector<float> buffer_;
};

}  // namespace

std::unique_ptr<Way> one_writer(const Options& options, MPI_Comm processes) {
  return std::make_unique<OneWriter>(options, processes);
}

}  // namespace damaris::bench
