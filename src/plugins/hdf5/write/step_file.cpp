#include "step_file.hpp"

#include <utility>
#include <vector>

#include "labels.hpp"

namespace damaris::hdf5 {
namespace {

manifest::DatasetEntry record_of(const Piece& piece) {
  manifest::DatasetEntry entry;
  entry.path = piece.path;
  entry.variable = piece.variable->path;
  entry.has_position = piece.has_position;
  entry.box = piece.box;
  const dc_dataset_t& first = *piece.parts.front().block;
  if (piece.variable->has_global != 0) entry.global.assign(first.global, first.global + piece.variable->ndims);
  if (!piece.joined && !piece.stacked) {
    entry.source = first.source;
    entry.block = first.block;
  }
  if (piece.joined) entry.lowest_source = lowest_source(piece);
  if (piece.stacked)
    for (const Part& part : piece.parts) {
      entry.sources.push_back(part.block->source);
      entry.blocks.push_back(part.block->block);
    }
  entry.raw_bytes = static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes;
  return entry;
}

}  // namespace

StepFile::StepFile(const dc_host_t& host, DatasetWriter& writer, const manifest::FileNames& names, const dc_step_t& step)
    : host_(host),
      writer_(writer),
      output_(names.temporary_path(step.step), names.final_path(step.step)),
      file_(output_.descriptor(), output_.temporary_path()) {
  file_.target().write_back_early();
  entry_.name = names.final_name(step.step);
  entry_.server = host.server_index;
}

bool StepFile::write_more(const dc_step_t& step, const std::function<void(const Refused&)>& refuse) {
  const std::vector<Piece> pieces = pieces_of(step);  // anew: they point to the data
  if (next_ == 0) {
    label_file(file_.id(), host_, step);
    writer_.reserve(file_, pieces);
  }
  for (std::uint64_t bytes = 0; next_ < pieces.size() && bytes < kBytesPerCall; ++next_) {
    manifest::DatasetEntry one = record_of(pieces[next_]);
    bytes += one.raw_bytes;
    try {
      write(pieces[next_], step, one);
    } catch (const Refused& refused) {
      refuse(refused);
      continue;
    }
    entry_.datasets.push_back(std::move(one));
  }
  return next_ == pieces.size();
}

void StepFile::write(const Piece& piece, const dc_step_t& step, manifest::DatasetEntry& entry) {
  Dataset dataset = writer_.write(file_, piece, entry);
  label_dataset(dataset, piece, step);
  entry.stored_bytes = H5Dget_storage_size(dataset.id());
  dataset.close("write the dataset", piece.path);
  file_.check();
}

manifest::FileEntry StepFile::publish(bool overwrite) {
  file_.close();
  entry_.checksum = file_.checksum();
  entry_.bytes = output_.publish(overwrite);
  return std::move(entry_);
}

}  // namespace damaris::hdf5
