// The work on a dataset as a recorder shows it: one call, with the clients' blocks that it stores.
// Used by: step_file.hpp and box_writer.hpp, on the server's work thread.
// Before it: pieces.hpp. After it: core/base/observed.hpp.
#pragma once

#include <vector>

#include "core/base/observed.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {

// `pieces`: `count` of them, of one dataset of this variable. Throws what `body` throws.
template <class Body>
void observe_pieces(const Piece* pieces, std::size_t count, const dc_variable_info_t& variable, std::int64_t step, Body&& body) {
  if (find_recorder() == nullptr) return body();
  std::vector<trace::BlockKey> blocks;
  std::uint64_t bytes = 0;
  for (const Piece* piece = pieces; piece != pieces + count; ++piece)
    for (const Part& part : piece->parts) {
      const std::uint64_t mine = static_cast<std::uint64_t>(volume(part.box)) * variable.element_bytes;
      blocks.push_back({part.block->source, part.block->block, mine});
      bytes += mine;
    }
  observed({"write_dataset", "variable", variable.path, step, bytes, blocks.data(), blocks.size()}, [&] {
    body();
    return 0;
  });
}

}  // namespace damaris::hdf5
