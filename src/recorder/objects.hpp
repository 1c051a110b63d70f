// The numbers of files in the trace: one for each time that a file is opened, or is met first.
// Used by: generated wrappers, any thread, which is busy.
// Before it: a descriptor or a stream. After it: a text slot with its path.
#pragma once

#include <cstdint>
#include <cstdio>

namespace damaris::recorder::objects {

// kDropped for pipes, sockets, devices, shared memory and files of MPI itself.
std::uint32_t of_descriptor(int descriptor);
std::uint32_t of_stream(std::FILE* stream);
// Of a descriptor that a call has just made; 0 for a negative one.
std::uint32_t opened(int descriptor);
std::uint32_t stream_opened(std::FILE* stream);
std::uint32_t copied(int from, int to);
// `known`: what of_descriptor said before the call.
std::uint32_t closed(int descriptor, std::uint32_t known, bool is_closed);
// After a fork: the child's file has none of the numbers.
void forget_all();

}  // namespace damaris::recorder::objects
