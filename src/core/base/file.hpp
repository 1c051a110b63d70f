// Whole text files, and the digest by which two processes compare what they read.
// Used by: every process at start-up; names of regions and recovery use the digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace damaris {

// Reads the configuration file `path`. Throws Error(DC_E_CONFIG): missing, a folder, not readable, empty, or above 64 MiB.
std::string read_config_file(const std::string& path);

// 64-bit FNV-1a digest. No defence against attacks: it detects ranks that read different files.
std::uint64_t digest(std::string_view text) noexcept;

// The same number for all paths of one file, whatever its content.
std::uint64_t place_digest(const std::string& path);

}  // namespace damaris
