// How the bytes of a new file are spread over the targets of a Lustre file system; elsewhere nothing.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: stripe-count and stripe-size of <hdf5>. After it: output_file.hpp creates the file, and the first byte follows.
#pragma once

#include <cstdint>
#include <string>

namespace damaris::hdf5 {

struct Striping {
  int count = 0;                 // targets of a file; 0: as the folder says
  std::uint64_t size_bytes = 0;  // of each stripe; 0: as the folder says

  bool is_asked() const { return count > 0 || size_bytes > 0; }
};

// Whether the folder is in a Lustre file system.
bool is_on_lustre(const std::string& folder);

// Flags of open(2) for a file in this folder that is to be striped: it gets no place on a target before that.
int open_flags_for(const Striping& striping, const std::string& folder);

// Stripes a file that was created with these flags, and has no byte yet. Returns 0 or the errno: then the file is striped as the folder says.
int stripe(int descriptor, const Striping& striping);

}  // namespace damaris::hdf5
