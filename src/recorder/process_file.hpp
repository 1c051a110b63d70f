// This process's file: its place, its chunks, and what it says about the process.
// Used by: chunk.cpp. `open` to `describe_process` under its lock; `append` by any thread.
// Before it: DAMARIS_RECORDING names the folder. After it: DIR/raw/<host>.<pid>.<ns>.trace, where the process has no chunk of a pool.
#pragma once

#include <cstdint>

namespace damaris::recorder::process_file {

// False: the process is not recorded.
bool begin();
// Makes the file, if it is not there. False: the file system refused it.
bool open();
// The time of `begin`, which tells the process and its file from others.
std::uint64_t identity();
// A new chunk at the end of the file, made at need; nullptr: the file system has no room for it.
void* map_chunk();
// Copies a chunk to the end of the file, made at need. False: the file system refused it.
bool append(const void* chunk);

void describe_process();
void describe_end(const char* how, std::uint64_t unrecorded);

void forget_parent();

}  // namespace damaris::recorder::process_file
