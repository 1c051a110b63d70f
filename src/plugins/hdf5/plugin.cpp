// The interface between the server and the hdf5 plugin: the C table, past which no exception may propagate.
// Used by: the server's work thread.
// Before it: the server's plugin host. After it: storage.hpp.
#include <damaris/plugin.h>
#include <damaris/error.hpp>

#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "file/handle.hpp"
#include "storage.hpp"

namespace damaris::hdf5 {
namespace {

struct State {
  explicit State(const dc_host_t& the_host) : host(the_host), storage(the_host) {}
  const dc_host_t& host;
  Storage storage;
};

// HDF5 is built without thread safety, and a process may contain several servers, each with its own thread.
std::mutex hdf5_mutex;

// Without `calls_hdf5`, the call decides when HDF5 is first called.
template <class Call>
int guarded(const dc_host_t& host, Call&& call, bool calls_hdf5 = true) {
  const auto fail = [&](dc_code code, const char* sentence) {
    host.fail(host.self, sentence);
    return code;
  };
  const std::lock_guard<std::mutex> lock(hdf5_mutex);
  try {
    std::optional<QuietErrors> quiet;
    if (calls_hdf5) quiet.emplace();
    call();
    return DC_OK;
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const Failure& failure) {
    return fail(DC_E_IO, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(DC_E_MEMORY, "the hdf5 plugin is out of memory; give the dedicated core more, or write less in one step");
  } catch (const std::exception& error) {
    return fail(DC_E_PLUGIN, error.what());
  } catch (...) {
    return fail(DC_E_PLUGIN, "the hdf5 plugin caught an unknown exception");
  }
}

int init(const dc_host_t* host, void** state) {
  const auto start = [&] {
    check_can_share(*host);  // first: HDF5 may be resolved to the program's own
    const QuietErrors quiet;
    *state = std::make_unique<State>(*host).release();
  };
  return guarded(*host, start, false);
}

int on_step(void* state, const dc_step_t* step) {
  State& mine = *static_cast<State*>(state);
  int stored = DC_OK;
  const int code = guarded(mine.host, [&] { stored = mine.storage.store(*step); });
  return code == DC_OK ? stored : code;
}

int on_message(void* state, int from, const void* data, std::uint64_t bytes) {
  State& mine = *static_cast<State*>(state);
  return guarded(mine.host, [&] { mine.storage.receive(from, {static_cast<const char*>(data), static_cast<std::size_t>(bytes)}); });
}

int on_read(void* state, const dc_read_t* read) {
  State& mine = *static_cast<State*>(state);
  return guarded(mine.host, [&] { mine.storage.read(*read); });
}

int on_last_step(void* state, const dc_variable_info_t* variable, std::int64_t* step) {
  State& mine = *static_cast<State*>(state);
  return guarded(mine.host, [&] { *step = mine.storage.restart().last_step(variable); });
}

int on_passed(void* state, std::int64_t step) {
  State& mine = *static_cast<State*>(state);
  return guarded(mine.host, [&] { mine.storage.passed(step); });
}

int on_idle(void* state) {
  State& mine = *static_cast<State*>(state);
  RunViews::Work work = RunViews::Work::none;
  const int code = guarded(mine.host, [&] { work = mine.storage.work(); });
  if (code != DC_OK || work == RunViews::Work::none) return code;
  return work == RunViews::Work::more ? DC_AGAIN : DC_WAIT;
}

int finalize(void* state) {
  const dc_host_t& host = static_cast<State*>(state)->host;
  return guarded(host, [&] {
    const std::unique_ptr<State> mine(static_cast<State*>(state));  // may close files, and so goes within
    mine->storage.finish();
  });
}

}  // namespace
}  // namespace damaris::hdf5

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin() {
  using namespace damaris::hdf5;
  static const dc_plugin_t table = {DC_PLUGIN_ABI, sizeof(dc_plugin_t), "hdf5",  init,         nullptr,   on_step,
                                    finalize,      on_message,          on_read, on_last_step, on_passed, on_idle};
  return &table;
}
