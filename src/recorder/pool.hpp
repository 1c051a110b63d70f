// This process's chunks in the node's pool, which a server empties into few files.
// Used by: chunk.cpp; all under its lock but `next_for`, which each thread calls for its own chunk.
// Before it: DAMARIS_RECORDING_POOL names the pool, where `damaris record --server` has made one. After it: the log of the recording.
#pragma once

namespace damaris::recorder::pool {

// False: there is none, or it takes nobody. The process writes a file of its own then.
bool enter();
// A free chunk; nullptr: there is none, or no pool.
void* take();
bool has(const void* chunk);
bool is_entered();
// Gives the full chunk to the server, and takes another one as soon as there is one. nullptr: the server is dead or too slow, and is not asked
// again; what it has not written is given to `save` if it is dead.
using Save = bool (*)(const void* chunk);
void* next_for(void* full, Save save);
// The process is about to end: gives the chunk to the server and waits until it is written; the last process of the node also until the server has
// ended. If the server is dead, all that it has not written is given to `save`.
void give_back(void* chunk);
void settle(bool is_alone, Save save);

void forget_parent();

}  // namespace damaris::recorder::pool
