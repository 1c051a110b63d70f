#include <damaris/damaris_mpi.hpp>

#include <fstream>

#include "core/base/format.hpp"
#include "phases/ranks.hpp"
#include "phases/way.hpp"

namespace damaris::bench {
namespace {

// Phases that the buffer holds: one is being stored, one waits, one is being written.
constexpr std::uint64_t kBufferedPhases = 3;

constexpr const char* kXml = R"(<simulation name="phases">
  <architecture>
    <dedicated cores="{}"/>
    <buffer size="{}" timeout="5min"/>
  </architecture>
  <data>
    <parameter name="rows" value="1"/>
    <layout name="field" type="real32" dimensions="{},rows,{}" global="{},{},{}"/>
{}  </data>
  <storage><hdf5 basename="{}/phases"{}/></storage>
  <log level="warning"/>
</simulation>
)";

std::string name_of(int field) { return "field" + std::to_string(field); }

// Every client has an equal part of the buffer, so the largest slab counts; a block's header and its alignment come on top.
std::uint64_t buffer_bytes(const Options& options, const Grid& grid, int clients) {
  const int most = (clients + options.groups - 1) / options.groups;
  const std::uint64_t slab = kFields * grid.bytes({0, grid.largest_slab_rows(clients)});
  return static_cast<std::uint64_t>(most) * (kBufferedPhases * slab + (std::uint64_t{1} << 20));
}

std::string xml(const Options& options, const Grid& grid, int clients) {
  std::string variables;
  for (int field = 0; field < kFields; ++field)
    variables += format("    <variable name=\"{}\" layout=\"field\"/>\n", name_of(field));
  return format(kXml, options.groups, buffer_bytes(options, grid, clients), grid.levels, grid.columns, grid.levels, grid.rows,
                grid.columns, variables, options.folder, options.way == "damaris-deflate" ? " reduce=\"deflate\"" : "");
}

class ThroughDamaris : public Way {
 public:
  explicit ThroughDamaris(Session session, Slab slab) : session_(std::move(session)) {
    session_.set_parameter("rows", static_cast<std::int64_t>(slab.count));
    session_.set_position("field", {0, static_cast<std::int64_t>(slab.first), 0});
    for (int field = 0; field < kFields; ++field) variables_.push_back(session_.variable<float>(name_of(field)));
  }

  void write(int phase, const Fields& fields) override {
    const std::size_t values = fields.grid().values(fields.slab());
    for (int field = 0; field < kFields; ++field)
      variables_[static_cast<std::size_t>(field)].write(phase, Section<float>(fields[field], values));
    session_.end_iteration(phase);
  }

  void finish() override { session_.finalize(); }

 private:
  Session session_;
  std::vector<Variable<float>> variables_;
};

}  // namespace

MPI_Comm start_damaris(const Options& options, const Grid& grid, MPI_Comm world) {
  const std::string path = options.folder + "/phases.xml";
  if (rank_in(world) == 0) std::ofstream(path) << xml(options, grid, size_of(world) - options.groups);
  MPI_Barrier(world);
  MPI_Comm clients = MPI_COMM_NULL;
  int is_client = 0;
  if (const int code = dc_mpi_initialize(path.c_str(), world, &clients, &is_client); code < 0)
    throw Error(static_cast<dc_code>(code), dc_last_error());
  return is_client == 0 ? MPI_COMM_NULL : clients;
}

std::unique_ptr<Way> through_damaris(const Grid& grid, MPI_Comm processes) {
  return std::make_unique<ThroughDamaris>(Session::adopt(), grid.slab(rank_in(processes), size_of(processes)));
}

}  // namespace damaris::bench
