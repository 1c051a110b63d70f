// dc_write against memcpy with 1 to N clients that write at the same time, each a process.
// Used by: the write benchmark's process, one thread; forks the clients.
// Before it: a folder for configurations. After it: rows, a table.
#pragma once

#include <string>

#include "folder.hpp"
#include "report.hpp"

namespace damaris::bench {

// The most clients that have a core of their own beside the server's: what `most` is when nobody says otherwise.
int clients_with_own_core();

// Measures 1, 2, 4, ... and `most` clients. Client i is pinned to the core i, from the first again where there are too few, and the
// server to the last. Rows only for several clients, each on a core of its own: one client is measured by the others.
void measure_several_clients(bool quick, int most, const Folder& folder, Report& report);

}  // namespace damaris::bench
