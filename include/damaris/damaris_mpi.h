/* Starting Damaris inside an MPI program: the one public header that needs mpi.h.
 * Used by: every rank of the simulation, once, by the main thread.
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
 *   clients     gets the communicator of all clients (all nodes), to be used by the simulation in place of `world`. Owns: the
 *               library; valid until MPI_Finalize, also after dc_finalize. MPI_COMM_NULL on a server.
 *   is_client   1 on a client. 0 on a server, where the call returns when all clients have finalized and the data are durable:
 *               such a rank has nothing more to do than MPI_Finalize. With `dedicated cores="0"` every rank is a client.
 *   Collective  over `world`.
 *   Returns     the same error on every rank of `world` when one of them cannot start (no rank is left waiting), DC_E_REGION_IN_USE
 *               also while another run of the same XML is under way, DC_E_VERSION when the program brings another MPI than
 *               Damaris was built with; on a server afterwards the first failure of the run: DC_E_IO or
 *               DC_E_PLUGIN (or the code a plugin chose), DC_E_CLIENT_LOST, DC_E_TIMEOUT when not all clients attached, DC_E_DUPLICATE
 *               when a block came twice. */
DC_MUST_CHECK int dc_mpi_initialize(const char* config, MPI_Comm world, MPI_Comm* clients, int* is_client);

#ifdef __cplusplus
}
#endif
#endif
