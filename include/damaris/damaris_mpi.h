/* Starting Damaris inside an MPI program: the one public header that needs mpi.h.
 * Used by: every rank of the simulation, once a session, by the thread that may call MPI (MPI_THREAD_FUNNELED is enough).
 * Before it: MPI_Init. After it: clients go on with damaris.h; servers serve inside the call until all clients have finalized.
 */
#ifndef DAMARIS_DAMARIS_MPI_H
#define DAMARIS_DAMARIS_MPI_H

#include <mpi.h>

#include <damaris/damaris.h>
#include <damaris/mpi_flavour.h>

/* One program, one MPI: handles and constants of the other one mean something else. */
#if DAMARIS_MPI_IS_OPENMPI && !defined(OPEN_MPI)
#error \
    "This Damaris was built with OpenMPI, and mpi.h is that of another MPI: compile with mpicc.openmpi, or install Damaris for your MPI"
#elif !DAMARIS_MPI_IS_OPENMPI && defined(OPEN_MPI)
#error "This Damaris was built with MPICH, and mpi.h is that of OpenMPI: compile with mpicc.mpich, or install Damaris for OpenMPI"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Splits `world`: on every node the last `dedicated cores` ranks become servers, the others clients. A node is what shares memory;
 * DAMARIS_RANKS_PER_NODE="3,5" makes virtual nodes of consecutive ranks for tests (the last number repeats).
 *   config      the XML file, readable by every rank with the same content.
 *   world       MPI_COMM_WORLD or a part of it, no inter-communicator; duplicated, so it stays the caller's.
 *   clients     gets the communicator of all clients (all nodes), in the order of their ranks in `world`, to be used by the simulation in
 *               place of `world`. A client's id is its rank there. MPI_COMM_NULL on a server and after an error.
 *   is_client   1 on a client. 0 on a server, where the call returns when all clients have finalized and the data are durable:
 *               such a rank has nothing more to do than MPI_Finalize. With `dedicated cores="0"` every rank is a client. So an error
 *               with 1 is a start that failed, an error with 0 a run that failed on this server. `*clients` and `*is_client` stay as they
 *               were after DC_E_VERSION for another MPI.
 *   Owns        `clients` is valid until MPI_Finalize, also after dc_finalize: the library never frees it, the caller may.
 *   Collective  over `world`.
 *   Threads     the server's MPI calls and its plugins run on the calling thread. While it serves, SIGTERM means to store what was
 *               published and to return; the handler of before is back afterwards.
 *   Waits       for the start of another run, and for the end of one that is in the way, each at most the XML's attach timeout; a server,
 *               for its clients.
 *   Returns     the same error on every rank of `world` when one of them cannot start (no rank is left waiting): DC_E_CONFIG,
 *               DC_E_CONFIG_MISMATCH, DC_E_PLACEMENT, DC_E_REGION_IN_USE also while another run of the same XML is under way,
 *               DC_E_STALE_REGION, DC_E_SHM, DC_E_TIMEOUT, DC_E_NO_OUTPUT, DC_E_PLUGIN or the code of a plugin's init, DC_E_ARGUMENT for a
 *               null pointer, DC_E_ALREADY_INITIALIZED. On the rank alone, as nothing collective has begun: DC_E_NO_MPI before MPI_Init
 *               and after MPI_Finalize, DC_E_ARGUMENT for `world`, DC_E_VERSION when the program brings another MPI than Damaris was
 *               built with, DC_E_ALREADY_INITIALIZED for a second start under MPI, DC_E_FORKED. After an error of the start no rank
 *               has become client or server.
 *               On a server afterwards the first failure of the run: DC_E_IO or DC_E_PLUGIN (or the code a plugin chose),
 *               DC_E_CLIENT_LOST, DC_E_TIMEOUT when not all clients attached, DC_E_DUPLICATE when a block came twice,
 *               DC_E_SHAPE for a block that was refused as damaged, DC_E_STOPPED after SIGTERM, DC_E_MEMORY, DC_E_INTERNAL. */
DC_MUST_CHECK int dc_mpi_initialize(const char* config, MPI_Comm world, MPI_Comm* clients, int* is_client);

#ifdef __cplusplus
}
#endif
#endif
