// What the manifest says of the part of a shared dataset that one server has filled.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: shared_layout.hpp. After it: box_writer.hpp and chunk_exchange.hpp, which complete it; the manifest.
#pragma once

#include "../write/brick_index.hpp"
#include "manifest/entries.hpp"
#include "shared_layout.hpp"

namespace damaris::hdf5 {

// All but what follows from the values. `piece`: one box of this member.
manifest::DatasetEntry record_of(const SharedDataset& dataset, const Piece& piece);

// Extends the entry's range, if there are finite values.
void add_range(manifest::DatasetEntry& entry, const BrickRange& range);

}  // namespace damaris::hdf5
