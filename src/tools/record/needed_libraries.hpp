// The shared libraries that a program names: its DT_NEEDED entries, not those of its libraries.
// Used by: target_program.cpp.
// Before it: an open ELF file of 64 bits. After it: which MPI the program is linked with.
#pragma once

#include <elf.h>

#include <istream>
#include <string>
#include <vector>

namespace damaris::record {

// Empty for a damaged file, which the loader will refuse.
std::vector<std::string> needed_libraries(std::istream& file, const Elf64_Ehdr& header);

}  // namespace damaris::record
