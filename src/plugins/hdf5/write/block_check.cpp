#include "block_check.hpp"

#include <damaris/error.hpp>

#include <string>

#include "codec/checksum.hpp"

namespace damaris::hdf5 {

void check_block_checksum(const dc_dataset_t& block) {
  if (block.has_checksum == 0 || codec::crc32(block.data, block.bytes) == block.checksum) return;
  throw Error(DC_E_IO, "'" + std::string(block.variable->path) + "' (block " + std::to_string(block.block) + ") of client " +
                           std::to_string(block.source) + " has changed in the buffer since it was published in step " +
                           std::to_string(block.step) +
                           "; does the program write to the memory of dc_alloc after dc_commit, or is the memory, or the disk of "
                           "spill=\"...\", faulty?");
}

void check_block_checksums(const dc_step_t& step) {
  for (std::size_t i = 0; i < step.dataset_count; ++i) check_block_checksum(step.datasets[i]);
}

}  // namespace damaris::hdf5
