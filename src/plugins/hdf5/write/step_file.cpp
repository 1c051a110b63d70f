#include "step_file.hpp"

#include <damaris/error.hpp>

#include <string>
#include <utility>
#include <vector>

#include "../file/new_dataset.hpp"
#include "../layout/pieces.hpp"
#include "codec/checksum.hpp"

namespace damaris::hdf5 {
namespace {

void check_block_checksum(const dc_dataset_t& block) {
  if (block.has_checksum == 0 || codec::crc32(block.data, block.bytes) == block.checksum) return;
  throw Error(DC_E_IO, "'" + std::string(block.variable->path) + "' (block " + std::to_string(block.block) + ") of client " +
                           std::to_string(block.source) + " has changed in the buffer since it was published in step " +
                           std::to_string(block.step) +
                           "; does the program write to the memory of dc_alloc after dc_commit, or is the memory, or the disk of "
                           "spill=\"...\", faulty?");
}

}  // namespace

void check_block_checksums(const dc_step_t& step) {
  for (std::size_t i = 0; i < step.dataset_count; ++i) check_block_checksum(step.datasets[i]);
}

StepFile::StepFile(const dc_host_t& host, DatasetWriter& writer, const manifest::FileNames& names, const dc_step_t& step)
    : host_(host),
      writer_(writer),
      output_(names.temporary_path(step.step), names.final_path(step.step)),
      file_(output_.descriptor(), output_.temporary_path()),
      pieces_(pieces_of(step)),
      shown_(step.dataset_count) {
  file_.target().write_back_early();
  entry_.name = names.final_name(step.step);
  entry_.server = host.server_index;
}

bool StepFile::write_more(const dc_step_t& step, const std::function<void(const NotStorable&)>& skip) {
  if (next_ == 0) {
    label_file(file_.id(), host_, step);
    writer_.reserve(file_, pieces_);
  }
  const std::size_t first = next_;
  for (std::uint64_t bytes = 0; next_ < pieces_.size() && bytes < kBytesPerCall; ++next_) {
    const Piece& piece = pieces_[next_];
    manifest::DatasetEntry one = record_of(piece);
    bytes += one.raw_bytes;
    try {
      observe_pieces(&piece, 1, *piece.variable, step.step, [&] {
        Dataset dataset = writer_.write(file_, piece, one);
        label_dataset(dataset, piece, step.step, time_of(step));
        one.stored_bytes = H5Dget_storage_size(dataset.id());
        dataset.close("write the dataset", piece.path);
        file_.check();
      });
    } catch (const NotStorable& why) {
      for (const Part& part : piece.parts) check_block_checksum(*part.block);  // values that changed are not the program's
      skip(why);
      continue;
    }
    entry_.datasets.push_back(std::move(one));
  }
  check_values(step, first);
  return next_ == pieces_.size();
}

// After they were read, because they may change between two calls; each block once. The last call checks also those that no piece shows.
void StepFile::check_values(const dc_step_t& step, std::size_t first) {
  std::vector<bool> due(step.dataset_count);
  for (std::size_t i = first; i < next_; ++i)
    for (const Part& part : pieces_[i].parts) due[static_cast<std::size_t>(part.block - step.datasets)] = true;
  for (std::size_t i = 0; i < step.dataset_count; ++i) {
    const bool is_last = next_ == pieces_.size() && !shown_[i];
    if (due[i] || is_last) check_block_checksum(step.datasets[i]);
    shown_[i] = shown_[i] || due[i];
  }
}

manifest::FileEntry StepFile::publish(bool overwrite) {
  file_.close();
  entry_.checksum = file_.checksum();
  entry_.bytes = output_.publish(overwrite);
  return std::move(entry_);
}

}  // namespace damaris::hdf5
