// The pool of this node for a run, and the server behind it: the first process of the run that comes makes both.
// Used by: damaris-record with --server, before it becomes the program.
// Before it: the folder of the recording. After it: DAMARIS_RECORDING_POOL, of which each recorder takes chunks.
#pragma once

#include <string>

namespace damaris::record {

struct PoolOptions {
  int files = 1;   // into which the server writes
  int chunks = 2;  // of 1 MiB for each process that the launcher has started on this node
};

// The path of the pool of the recording `id`, whose server lives at least as long as this process and what it becomes. Throws Error if there
// can be none; recorders without a pool write files of their own.
std::string join_pool(const std::string& raw, const std::string& id, const PoolOptions& options);

}  // namespace damaris::record
