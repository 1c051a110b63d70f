/* Starts Damaris inside an MPI program: the only public C header that needs mpi.h.
 * Used by: every rank of the simulation, once a session, by the thread that may call MPI (MPI_THREAD_FUNNELED is enough).
 * Before it: MPI_Init. After it: clients continue with damaris.h; servers serve inside the call until all clients have finalized.
 */
#ifndef DAMARIS_DAMARIS_MPI_H
#define DAMARIS_DAMARIS_MPI_H

#include <mpi.h>

#include <damaris/damaris.h>
#include <damaris/mpi_flavour.h>

/* Program and library must use the same MPI: handles and constants of another one have other values. */
#if DAMARIS_MPI_IS_OPENMPI && !defined(OPEN_MPI)
#error \
    "This Damaris was built with OpenMPI, and mpi.h is that of another MPI: compile with mpicc.openmpi, or install Damaris for your MPI"
#elif !DAMARIS_MPI_IS_OPENMPI && defined(OPEN_MPI)
#error "This Damaris was built with MPICH, and mpi.h is that of OpenMPI: compile with mpicc.mpich, or install Damaris for OpenMPI"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Splits `world`: on every node the last `dedicated cores` ranks become servers, the others clients. The ranks that share memory form a
 * node; DAMARIS_RANKS_PER_NODE="3,5" forms virtual nodes of 3 and 5 consecutive ranks for tests (the last number repeats). With
 * `dedicated cores="0"` every rank is a client.
 *   config      path of the XML file, readable by every rank with the same content.
 *   world       MPI_COMM_WORLD or a part of it, not an inter-communicator. The call duplicates it; the caller keeps it.
 *   clients     gets the communicator of the clients of all nodes, in the order of their ranks in `world`, which the simulation uses in
 *               place of `world`. The id of a client is its rank there. MPI_COMM_NULL on a server and after an error.
 *   is_client   gets 1 on a client and after an error of the start, 0 on a server, also after an error of the run. When a server returns,
 *               it only has to call MPI_Finalize.
 *   Owns        the caller may free `*clients`, the library never does; valid until MPI_Finalize, also after dc_finalize.
 *   Collective  over `world`.
 *   Threads     a server makes its MPI calls and runs its plugins on the calling thread. While it serves, SIGTERM makes it store
 *               the published data and return; afterwards the earlier handler is in place again.
 *   Waits       until another run that starts has started, and until a run that is in the way has ended: each at most the XML's attach
 *               timeout, in seconds unless the XML gives a unit. A server waits for its clients, without a bound once they are attached.
 *               All ranks wait for the servers' first access to their disk, as any collective open would: without a bound if it hangs.
 *   Returns     when a rank cannot start, the same error on every rank of `world`, and no rank is client or server: DC_E_CONFIG,
 *               DC_E_CONFIG_MISMATCH, DC_E_PLACEMENT, DC_E_REGION_IN_USE also while another run of the same XML is under way,
 *               DC_E_STALE_REGION, DC_E_SHM, DC_E_TIMEOUT, DC_E_NO_OUTPUT, DC_E_PLUGIN or the code of a plugin's init, DC_E_ARGUMENT for a
 *               null pointer, DC_E_ALREADY_INITIALIZED.
 *               On the calling rank alone, before anything collective: DC_E_NO_MPI before MPI_Init and after MPI_Finalize, DC_E_ARGUMENT
 *               for `world`, DC_E_ALREADY_INITIALIZED for a second start under MPI, DC_E_FORKED.
 *               On a server, after all clients have finalized, the first failure of the run: DC_E_IO or DC_E_PLUGIN (or the code of a
 *               plugin), DC_E_CLIENT_LOST, DC_E_TIMEOUT when not all clients attached, DC_E_DUPLICATE for a block that came twice,
 *               DC_E_SHAPE for a block that was refused as damaged, DC_E_STOPPED after SIGTERM, DC_E_MEMORY, DC_E_INTERNAL. */
DC_MUST_CHECK int dc_mpi_initialize(const char* config, MPI_Comm world, MPI_Comm* clients, int* is_client);

#ifdef __cplusplus
}
#endif
#endif
