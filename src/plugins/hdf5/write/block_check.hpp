// Compares blocks with the checksums that were taken of them when they were published, or spilled.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: what has read the values. After it: storage.cpp, which refuses the step.
#pragma once

#include <damaris/plugin.h>

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_IO) if a block has changed since it was published: a step is stored whole or not at all. Call it after the
// values were read, as a client, or a faulty disk, may change them at any time before.
void check_block_checksum(const dc_dataset_t& block);
// The same for all blocks.
void check_block_checksums(const dc_step_t& step);

}  // namespace damaris::hdf5
