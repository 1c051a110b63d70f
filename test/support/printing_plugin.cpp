// An action that prints, as users' actions do first.
// Used by: tests that read what it printed.
#include <damaris/plugin.h>

#include <iostream>

DC_PLUGIN_EXPORT int print_step(const dc_event_t*, const dc_step_t* step, const dc_host_t* host) {
  std::cout << "server " << host->server_index << " sees step " << step->step << std::endl;
  return DC_OK;
}
