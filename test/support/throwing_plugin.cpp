// A plugin that lets exceptions out, as one written in C++ may by mistake: of std::exception in step 0, of anything else in step 1; with
// DAMARIS_TEST_NO_MEMORY in the environment std::bad_alloc in step 2.
// Used by: tests of what the server makes of it.
#include <damaris/plugin.h>

#include <cstdlib>
#include <new>
#include <stdexcept>

namespace {

int on_step(void*, const dc_step_t* step) {
  if (step->step == 0) throw std::runtime_error("the flux is negative");
  if (step->step == 1) throw 42;
  if (step->step == 2 && std::getenv("DAMARIS_TEST_NO_MEMORY") != nullptr) throw std::bad_alloc();
  return DC_OK;
}

}  // namespace

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin() {
  static dc_plugin_t table = {};
  table.abi = DC_PLUGIN_ABI;
  table.size_bytes = sizeof table;
  table.name = "throwing";
  table.on_step = on_step;
  return &table;
}
