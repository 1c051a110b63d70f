/* An action of global scope that calls MPI over the servers: the sum of their numbers, counted from 1, one line for each call.
 * File: DAMARIS_TEST_LOG, as the recorder plugin's.
 */
#include <damaris/plugin.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

DC_PLUGIN_EXPORT int sum_servers(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  char path[4096];
  int number = host->server_index + 1, sum = 0;
  (void)event;
  if (MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, *(const MPI_Comm*)host->communicator) != MPI_SUCCESS) return DC_E_PLUGIN;
  snprintf(path, sizeof path, "%s.s%d", getenv("DAMARIS_TEST_LOG"), host->server_index);
  FILE* log = fopen(path, "a");
  if (log == NULL) return DC_E_IO;
  fprintf(log, "step %d sum %d\n", (int)step->step, sum);
  fclose(log);
  return DC_OK;
}
