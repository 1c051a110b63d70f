// Reads the configuration, computes the digest by which two processes compare what they read, and tells where libdamaris is.
// Used by: every process at start-up; names of regions and recovery use the digest, who starts programs or loads plugins the place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace damaris {

// Reads the configuration file `path`. Throws Error(DC_E_CONFIG): missing, a folder, not readable, empty, or above 64 MiB.
std::string read_config_file(const std::string& path);

// The absolute, lexically normal path; `path` as it is if the working directory has been removed. Does not look at the disk.
std::string absolute_path(const std::string& path);

// 64-bit FNV-1a digest. Not cryptographic: it detects ranks that read different files.
std::uint64_t digest(std::string_view text) noexcept;

// Identifies the configuration file by its canonical path, independent of its content: all paths of one file give the same number.
std::uint64_t place_digest(const std::string& path);

// Absolute path of the folder that holds libdamaris.so.
std::string library_folder();

}  // namespace damaris
