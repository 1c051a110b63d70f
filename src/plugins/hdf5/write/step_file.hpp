// The file of one step of one server, written a few datasets at a time, of blocks that match the checksums taken of them when they were
// published, or spilled.
// Used by: storage.cpp, on the server's work thread, which may handle messages and reads between two calls.
// Before it: the step. After it: a file of its final name, durable, and its entry for the manifest.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "../file/hdf5_file.hpp"
#include "../layout/pieces.hpp"
#include "core/base/output_file.hpp"
#include "dataset_writer.hpp"
#include "manifest/entries.hpp"
#include "manifest/output_folder.hpp"
#include "precision.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_IO) if a block has changed since it was published: a step is stored whole or not at all. Call it after the
// values were read, as a client, or a faulty disk, may change them at any time before.
void check_block_checksums(const dc_step_t& step);

class StepFile {
 public:
  // Creates the temporary file. Both references must outlive this object; its destructor removes the file unless it is published. Throws
  // Failure.
  StepFile(const dc_host_t& host, DatasetWriter& writer, const manifest::FileNames& names, const dc_step_t& step);

  // Writes datasets until they have kBytesPerCall, unreduced. Returns true when none is left. `step` is that of the constructor in each
  // call, and its data stay where they are. `skip` gets each dataset that cannot be stored as declared, which is left
  // out. Throws Failure, or damaris::Error if a value that it wrote has changed since it was published: then destroy this object.
  bool write_more(const dc_step_t& step, const std::function<void(const NotStorable&)>& skip);
  static constexpr std::uint64_t kBytesPerCall = std::uint64_t{16} << 20;

  bool is_empty() const { return entry_.datasets.empty(); }

  // Closes the file and gives it its final name. Call once, after the last dataset. Throws Failure.
  manifest::FileEntry publish(bool overwrite);

 private:
  void check_values(const dc_step_t& step, std::size_t first);

  const dc_host_t& host_;
  DatasetWriter& writer_;
  manifest::FileEntry entry_;
  OutputFile output_;
  Hdf5File file_;
  std::vector<Piece> pieces_;
  std::vector<bool> shown_;  // by dataset of the step: by a piece that is written
  std::size_t next_ = 0;     // of pieces_
};

}  // namespace damaris::hdf5
