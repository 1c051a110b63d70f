// From the page cache to the disk.
// Used by: the ways that write files, with --sync: the process that wrote, once its file is closed.
// Before it: a closed file, or a folder of them. After it: a phase that ends when its bytes are safe.
#pragma once

#include <string>

namespace damaris::bench {

// Syncs the file, or every file of the folder. Throws Error(DC_E_IO).
void make_durable(const std::string& path);

}  // namespace damaris::bench
