// The model: the contents of the XML as plain structs, without I/O, MPI or XML.
// Used by: every process; built once by config (or from the region's compiled form), then immutable and shared by all threads.
// Before it: config. After it: the client resolves layouts, the server runs actions, plugins see variable infos.
#pragma once

#include <damaris/damaris.h>
#include <damaris/plugin.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/expression.hpp"

namespace damaris::model {

// A position in the XML, for messages. Line 0: not from a file (a default).
struct Location {
  int line = 0;
  int column = 0;
};

struct Field {
  std::string name;
  dc_type type = DC_ANY;
  std::int64_t count = 1;
  std::uint64_t offset_bytes = 0;
};

// A compound type; natural C alignment unless the XML says packed="true".
struct Compound {
  std::string name;
  std::vector<Field> fields;
  std::uint64_t size_bytes = 0;
};

struct Parameter {
  std::string name;
  dc_type type = DC_INT64;  // an integer type: the range dc_set_parameter accepts
  Expression expression;    // may use parameters that precede it in Frame::parameters
  std::int64_t value = 0;   // initial value of the expression
  bool constant = false;    // rejected by dc_set_parameter: constant="true" in the XML, or computed from other parameters
  Location where;
};

struct GhostWidth {
  Expression low, high;
};

struct Layout {
  std::string name;
  dc_type type = DC_FLOAT32;
  int compound = -1;  // index into Frame::compounds for DC_COMPOUND
  std::uint64_t element_bytes = 4;
  bool fortran_order = false;          // the lists below have the fastest dimension first
  std::vector<Expression> dimensions;  // extents with ghost zones, as written in the XML; never empty: a scalar is {1}
  std::vector<Expression> global;      // empty, or one per dimension
  std::vector<GhostWidth> ghost;       // empty, or one per dimension
  Location where;
};

// The steps in which a variable is written: every `every`-th from `from` to `until`.
struct StepSelection {
  std::int64_t every = 1, from = 0, until = std::numeric_limits<std::int64_t>::max();
  bool always() const noexcept { return every == 1 && from == 0 && until == std::numeric_limits<std::int64_t>::max(); }
  bool due(std::int64_t step) const noexcept { return step >= from && step <= until && (step - from) % every == 0; }
};

// The outcome of a write whose wait for room has timed out.
enum class OnFull {
  block,  // an error
  skip,   // the variable is left out of the step
  drop,   // the rest of the step is left out
};

struct Variable {
  std::uint32_t id = 0;  // index in Model::variables
  std::string name;      // without groups
  std::string path;      // "group/name"
  std::size_t layout = 0;
  std::string unit, description, mesh;
  std::vector<std::uint32_t> coordinates;  // of a rectilinear mesh: ids of variables, one per dimension in C order; else empty
  std::string reduce;                      // as in the XML, "" for none
  dc_reduction_t reduction = {};           // `reduce`, parsed
  std::string reduce_on_full;              // used while the buffer is filling, "" for none
  dc_reduction_t reduction_on_full = {};
  OnFull on_full = OnFull::block;
  StepSelection schedule;
  int priority = 0;                 // higher ones are stored first
  std::vector<std::int64_t> chunk;  // extents in the layout's dimension order; empty: left to the storage
  bool enabled = true;
  bool store = true;  // false: for actions only, never in files
  Location where;
};

constexpr int kMostLogs = 64, kMostLogFiles = 1024;  // of a model, and of a log on each server

// A log of bytes that clients append to. Each server keeps `files` files of it.
struct StreamLog {
  std::string name;
  int files = 1;
  std::uint64_t block_bytes = 1 << 20;  // a write to a file crosses no multiple of it
  bool buffered = true;                 // an append returns when the server owns the bytes; else when they are in the file
  Location where;
};

// What the server executes on an event.
struct Action {
  std::string function;  // symbol of the one-function form, or "" when `plugin` handles it
  std::string library;   // `using`: file of the one-function form
  int plugin = -1;       // index into Model::plugins when the action is a plugin's on_event
  dc_scope scope = DC_SCOPE_NODE;
  bool on_root = false;  // on="root": only on server 0
  Location where;
};

// All <event> elements of one name: one event with several actions. No action: accepted and ignored.
struct Event {
  std::uint32_t id = 0;
  std::string name;
  std::vector<Action> actions;
  Location where;
};

// A plugin in table form. The storage element <hdf5 .../> becomes one named "hdf5" with `storage` set and all its attributes as settings.
struct Plugin {
  std::string name;
  std::string library;  // "damaris_hdf5.so"
  bool storage = false;
  std::vector<std::pair<std::string, std::string>> settings;
  Location where;
};

enum class StalePolicy { recover, refuse, discard };
enum class PluginPolicy { disable, fail_step };

constexpr int kMostClients = 1 << 20;  // of a server

struct Architecture {
  int dedicated_cores = 1;                  // per node; 0: in place
  int clients = 0;                          // of a detached server's node; 0: --clients, the launcher's local size, else 1
  int threads = 1;                          // lanes and arenas per client
  bool start_server = true;                 // <server start="auto">: the first client starts the detached server
  bool pin = true;                          // servers pin themselves where allowed
  std::uint64_t buffer_bytes = 64u << 20;   // per server: all arenas together
  std::vector<std::int64_t> weights;        // empty: equal arenas
  bool pooled = false;                      // one arena shared by all clients
  bool checksums = false;                   // clients compute one for each block they publish
  std::int64_t buffer_timeout_ms = 10'000;  // block(timeout) of a full buffer or lane
  OnFull on_full = OnFull::block;           // default of the variables
  bool reduces_on_full = false;             // apply reduce_on_full of the variables while the buffer is filling
  std::string spill;                        // folder for datasets that do not fit into the buffer, "" for none
  std::uint64_t spill_bytes = std::uint64_t{16} << 30;  // maximum size of the spill file
  std::uint64_t lane_messages = 0;                      // capacity of a lane, a power of two; 0: from the model (sizes.hpp)
  std::int64_t attach_timeout_ms = 60'000;
  std::int64_t finalize_timeout_ms = 300'000;
  std::int64_t read_timeout_ms = 300'000;  // of a read from an earlier run
  std::int64_t global_timeout_ms = 30'000;
  StalePolicy stale = StalePolicy::refuse;
  PluginPolicy plugin_policy = PluginPolicy::disable;
};

struct LogSettings {
  std::string level = "off";  // without a <log> element; with one, its default is "warning"
  std::string file;
  bool summary = true;  // a line at the end of the run
};

// All of a model but its variables and plugins: what a client keeps in memory of its own, whatever the number of variables. It finds those
// in the region (variable_table.hpp).
struct Frame {
  std::string simulation = "simulation";
  std::string file;    // path of the XML as given
  std::string folder;  // in a region: the working directory of its server, which relative paths refer to
  Architecture architecture;
  std::vector<Parameter> parameters;
  std::vector<Compound> compounds;
  std::vector<Layout> layouts;
  std::vector<Event> events;  // ids are indexes
  std::vector<StreamLog> logs;
  LogSettings log;
  std::string server_log;  // in a region: an absolute path, or "standard error"; "" for no log
};

struct Model : Frame {
  std::vector<Variable> variables;  // ids are indexes
  std::vector<Plugin> plugins;      // storage first
};

// A layout with its expressions evaluated; always in C order (slowest dimension first).
struct Shape {
  std::uint64_t bytes = 0;  // first, next to the extents: every write reads both
  int ndims = 0;
  std::int64_t extents[DC_MAX_DIMS] = {};
  std::int64_t global[DC_MAX_DIMS] = {};
  std::int64_t ghost_low[DC_MAX_DIMS] = {};
  std::int64_t ghost_high[DC_MAX_DIMS] = {};

  // The extent without ghost zones. In an empty block the extents may be smaller than the ghost zones.
  std::int64_t interior(int d) const {
    const std::int64_t without = extents[d] - ghost_low[d] - ghost_high[d];
    return without > 0 ? without : 0;
  }
};

// Evaluates `layout` with the given parameter values (indexed as frame.parameters).
// Throws Error(DC_E_SHAPE) for negative extents, overflow or, unless the shape is empty, a ghost zone wider than its dimension; names the
// layout, the dimension and the values.
Shape resolve(const Frame& frame, const Layout& layout, const std::vector<std::int64_t>& parameters);

// The initial values of all parameters, indexed as frame.parameters.
std::vector<std::int64_t> initial_parameters(const Frame& frame);

// Recomputes the parameters whose expressions use others; call it after one of `values` has changed.
// Throws Error(DC_E_ARGUMENT) for overflow, division by zero or a value outside a parameter's type; `values` is then unchanged.
void update_parameters(const Frame& frame, std::vector<std::int64_t>& values);

// Bytes that one client writes in a step in which it writes every enabled variable once.
std::uint64_t step_bytes(const Model& model, const std::vector<std::int64_t>& parameters);

// True for a storage that writes files from several servers, with its own MPI calls.
bool calls_mpi(const Plugin& plugin);

// Why this model requires MPI (global scope, one file for all servers), with the place in the XML; "" if it does not.
std::string mpi_reason(const Model& model);
// The same, with the alternative without MPI.
std::string refusal_without_mpi(const Model& model);
inline bool needs_mpi(const Model& model) { return !mpi_reason(model).empty(); }

// Where a server without a terminal logs if <log> names no file: beside the output, where users look first if some of it is missing.
std::string background_log_file(const Model& model);

// The place of a log's first file among the files of all logs of a server; for the number of logs, their total.
std::uint32_t first_file(const Frame& frame, std::size_t log);
// Where the files of the logs are: the basename of the storage, else the name of the simulation.
std::string logs_basename(const Model& model);

// "cm1.xml:12:5", or the path alone for a default.
std::string place(const Frame& frame, Location where);

// The range of an integer type that dc_set_parameter accepts (the highest uint64 is that of int64).
std::int64_t lowest(dc_type type);
std::int64_t highest(dc_type type);

std::uint64_t type_bytes(dc_type type);  // 0 for DC_ANY and DC_COMPOUND
const char* type_name(dc_type type);     // "real32", "int64", ...
std::string type_text(dc_type type);     // for messages, with the names that programs use: "real32 (real, float)"

}  // namespace damaris::model
