#include "restart_reader.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "manifest/output_folder.hpp"
#include "manifest/stored_parts.hpp"
#include "stored_values.hpp"

namespace damaris::hdf5 {
namespace {

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void ReadProgress::begin(const dc_read_t& read, Instant now) {
  const std::tuple what{read.variable->id, read.step, read.source};
  const bool goes_on = what == what_ && now - last_ < interval_;
  last_ = now;
  if (goes_on) return;
  what_ = what;
  name_ = "'" + std::string(read.variable->path) + "' of step " + std::to_string(read.step) + " for client " +
          std::to_string(read.source);
  begun_ = told_ = now;
  bytes_ = 0;
}

void ReadProgress::took(std::uint64_t bytes, Instant now) {
  bytes_ += bytes;
  tell(mib(bytes_) + " so far", now);
}

void ReadProgress::checks(const std::string& file, std::uint64_t done, std::uint64_t bytes, Instant now) {
  tell(mib(bytes_) + " so far, checks " + mib(done) + " of " + mib(bytes) + " of " + file + " first", now);
}

void ReadProgress::tell(const std::string& how_far, Instant now) {
  last_ = now;
  if (!log_ || now - told_ < interval_) return;
  told_ = now;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begun_).count();
  log_("reads " + name_ + " since " + std::to_string(seconds) + " s: " + how_far);
}

namespace {

bool equal(hid_t a, hid_t b) { return checked(H5Tequal(a, b), "compare types") > 0; }

// Whether the members have the same names and types, at any offset: HDF5 moves them.
bool same_members(hid_t stored, hid_t wanted) {
  const int count = H5Tget_nmembers(wanted);
  if (H5Tget_nmembers(stored) != count) return false;
  for (int i = 0; i < count; ++i) {
    char* name = H5Tget_member_name(wanted, static_cast<unsigned>(i));
    const int there = H5Tget_member_index(stored, name);
    H5free_memory(name);
    if (there < 0) return false;
    const Type one(H5Tget_member_type(wanted, static_cast<unsigned>(i)), "inspect a member");
    const Type other(H5Tget_member_type(stored, static_cast<unsigned>(there)), "inspect a member");
    if (!equal(one.id(), other.id())) return false;
  }
  return true;
}

bool is_real(dc_type type) { return type == DC_FLOAT32 || type == DC_FLOAT64; }

// Whether the dataset has 16-bit numbers that represent the variable's reals.
bool is_quantized(const Type& stored, const dc_variable_info_t& variable) {
  return is_real(variable.type) && H5Tget_size(stored.id()) == 2 && H5Tget_class(stored.id()) == H5T_FLOAT;
}

void check_type(const Type& stored, const Type& wanted, const dc_variable_info_t& variable, const std::string& path) {
  if (is_quantized(stored, variable) || equal(stored.id(), wanted.id())) return;
  const bool compounds = H5Tget_class(stored.id()) == H5T_COMPOUND && H5Tget_class(wanted.id()) == H5T_COMPOUND;
  if (compounds && same_members(stored.id(), wanted.id())) return;
  throw Error(DC_E_TYPE, "the dataset '" + path + "' has another element type than '" + variable.type_name +
                             "' in the XML; give the layout the type that it had in that run");
}

void check_extents(const Space& space, const manifest::DatasetEntry& dataset) {
  Sizes stored = {};
  const bool same_rank = H5Sget_simple_extent_ndims(space.id()) == dataset.box.ndims;
  if (same_rank) H5Sget_simple_extent_dims(space.id(), stored.data(), nullptr);
  bool fits = same_rank && (dataset.start || stored == sizes_of(dataset.box));
  for (std::size_t d = 0; fits && dataset.start && d < dataset.start->size(); ++d)
    fits = dataset.start->at(d) + dataset.box.extent(static_cast<int>(d)) <= static_cast<std::int64_t>(stored[d]);
  if (!fits)
    throw Error(DC_E_IO,
                "the dataset '" + dataset.path + "' has other extents than in the manifest of the run: one of them is damaged");
}

// The file's dataset in the coordinates of the box.
Box frame_of(const manifest::DatasetEntry& dataset) {
  Box frame = dataset.box;
  if (dataset.start)
    for (int d = 0; d < frame.ndims; ++d) frame.low[d] -= dataset.start->at(static_cast<std::size_t>(d));
  return frame;
}

// Translates `box` from the coordinates of `from` to those of `to`.
Box moved(Box box, const Box& from, const Box& to) {
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] += to.low[d] - from.low[d];
    box.high[d] += to.low[d] - from.low[d];
  }
  return box;
}

// Dequantizes in double precision, in which the largest error was measured. Non-finite values are unchanged.
template <class T>
void dequantize(std::byte* values, std::size_t count, const manifest::DatasetEntry& dataset) {
  const double scale = dataset.scale.value_or(1), offset = dataset.offset.value_or(0);
  auto* reals = reinterpret_cast<T*>(values);
  for (std::size_t i = 0; i < count; ++i) reals[i] = static_cast<T>(static_cast<double>(reals[i]) * scale + offset);
}

// Converts like H5Dread.
void convert(const Type& stored, const Type& wanted, std::size_t count, std::vector<std::byte>& values) {
  std::vector<std::byte> background;  // supplies members that the stored compound lacks
  if (H5Tget_class(wanted.id()) == H5T_COMPOUND) background.resize(count * H5Tget_size(wanted.id()));
  checked(H5Tconvert(stored.id(), wanted.id(), count, values.data(), background.data(), H5P_DEFAULT), "convert values");
}

}  // namespace

DatasetReader::DatasetReader(const std::string& path) : file_(open_stored(path)) {}

void DatasetReader::read(const manifest::StoredPart& part, const dc_variable_info_t& variable, const Array& to) const {
  const std::string& path = part.dataset->path;
  const Dataset dataset = open_dataset(file_, path);
  const Type stored(H5Dget_type(dataset.id()), "get the type of", path), wanted = type_of(variable);
  check_type(stored, wanted, variable, path);
  const Space file(H5Dget_space(dataset.id()), "get the extents of", path);
  check_extents(file, *part.dataset);
  const auto put = [&](std::byte* values, const Box& box) {
    const auto count = static_cast<std::size_t>(volume(box));
    if (is_quantized(stored, variable))
      variable.type == DC_FLOAT32 ? dequantize<float>(values, count, *part.dataset)
                                  : dequantize<double>(values, count, *part.dataset);
    copy_region(to, {values, box}, box, variable.element_bytes);
  };
  if (const StoredLayout layout = layout_of(dataset, path); layout.has_filters()) {
    const Box frame = frame_of(*part.dataset);
    CompressedChunks chunks(dataset, layout, path);
    std::vector<std::byte> values;
    chunks.for_each_part(moved(part.box, frame, layout.whole), [&](const Box& box) {
      const auto count = static_cast<std::size_t>(volume(box));
      values.resize(count * std::max(layout.element_bytes, H5Tget_size(wanted.id())));
      std::memcpy(values.data(), chunks.read(box), count * layout.element_bytes);
      convert(stored, wanted, count, values);
      put(values.data(), moved(box, layout.whole, frame));
    });
    return;
  }
  select(file, frame_of(*part.dataset), part.box);
  if (!is_quantized(stored, variable)) {
    const Space memory = space_of(to.box);
    select(memory, to.box, part.box);
    checked(H5Dread(dataset.id(), wanted.id(), memory.id(), file.id(), H5P_DEFAULT, to.data), "read the dataset", path);
    return;
  }
  std::vector<std::byte> values(static_cast<std::size_t>(volume(part.box)) * variable.element_bytes);
  checked(H5Dread(dataset.id(), wanted.id(), space_of(part.box).id(), file.id(), H5P_DEFAULT, values.data()), "read the dataset",
          path);
  put(values.data(), part.box);
}

namespace {

std::string name_of(const dc_read_t& read) {
  return "'" + std::string(read.variable->path) + "' of step " + std::to_string(read.step);
}

Error damaged(const std::string& path, const std::string& what) {
  return Error(DC_E_IO, path + " " + what + ": it is damaged, or of another run; restore it, or continue from another step");
}

std::string nearest_steps(const std::map<std::int64_t, manifest::StepEntry>& steps, std::int64_t step) {
  const auto after = steps.lower_bound(step);
  std::string text;
  if (after != steps.begin()) text = std::to_string(std::prev(after)->first);
  if (after != steps.end()) text += (text.empty() ? "" : " and ") + std::to_string(after->first);
  return text;
}

}  // namespace

RestartReader::RestartReader(const std::string& basename, std::int64_t before) : manifest_(basename, before), before_(before) {}

// Read once: records added later belong to a run that continues this one.
const std::map<std::int64_t, manifest::StepEntry>& RestartReader::steps() {
  if (!has_read_) manifest_.read_on();
  has_read_ = true;
  if (!manifest_.has_logs())
    throw Error(DC_E_NOT_STORED, "no run is recorded in " + basename() +
                                     ".g*.jsonl; restart=\"...\" must be the basename=\"...\" of the run to continue");
  return manifest_.steps();
}

void RestartReader::require_step(const dc_read_t& read) {
  const auto& all = steps();
  if (all.count(read.step) > 0) return require_undamaged(read.step);
  const std::string nearest = nearest_steps(all, read.step);
  throw Error(DC_E_NOT_STORED,
              name_of(read) + " is not in " + basename() + ": " +
                  (nearest.empty() ? "no step was stored" : "the nearest steps stored are " + nearest) +
                  (manifest_.damaged().empty() ? "" : "; it may be in a damaged record: " + manifest_.damaged().front()));
}

// The clients of a server read one variable after the other.
const manifest::StepEntry& RestartReader::files_of(std::int64_t step, const std::string& variable) {
  if (!found_ || found_step_ != step || found_variable_ != variable) {
    found_.reset();
    found_ = manifest_.with_files(step, variable);
    found_step_ = step;
    found_variable_ = variable;
  }
  return *found_;
}

// A damaged line may have been about a run that replaced the step, or a server's part of it.
void RestartReader::require_undamaged(std::int64_t step) const {
  const std::string damage = manifest_.damage_since(step);
  if (!damage.empty())
    throw Error(DC_E_IO, "step " + std::to_string(step) + " may be affected by damage to the manifest: " + damage +
                             "; restore the log from a copy, or continue from a step that was stored after it");
}

// The likely cause of a file that does not match: another process of this run, or this one before it came back, has replaced it.
std::string RestartReader::why_changed(std::int64_t step) const {
  if (before_ == manifest::Manifest::kAll) return "";
  manifest::Manifest now(basename());
  now.read_on();
  const std::optional<std::int64_t> first = now.first_stored_of_last_run();
  if (!first || step < *first) return "";
  return "; this run has stored steps from " + std::to_string(*first) +
         " on under the same basename: read before any of its processes writes";
}

void RestartReader::replace_from(std::int64_t step) {
  if (!replaced_from_) replaced_from_ = step;
}

void RestartReader::read(const dc_read_t& read) {
  if (is_replaced(read.step))
    throw Error(DC_E_NOT_STORED, name_of(read) + " was replaced: this run has stored steps from " +
                                     std::to_string(*replaced_from_) + " on under the same basename; read before the first write");
  require_step(read);
  progress_.begin(read, Clock::now());
  try {
    read_parts(files_of(read.step, read.variable->path), read);
  } catch (const Error& error) {
    const std::string unreported = error.code() == DC_E_NOT_STORED ? manifest_.unreported_servers(read.step) : "";
    throw Error(error.code(), name_of(read) + " in " + basename() + ": " + error.what() +
                                  (unreported.empty() ? "" : "; servers that did not report it: " + unreported) +
                                  (error.code() == DC_E_IO ? why_changed(read.step) : ""));
  } catch (const Failure& failure) {
    throw Error(DC_E_IO, name_of(read) + ": " + failure.what() + "; restore the file, or continue from another step");
  }
}

RestartReader::FileState RestartReader::state_of(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) throw_system_failure(errno, "stat", path);
  return {facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

// Checks each file once, and again if it was replaced: its size, as HDF5 may not notice, and its checksum.
void RestartReader::check_file(const manifest::FileEntry& file, const std::string& path) {
  const FileState now = state_of(path);
  if (const auto known = checked_.find(path); known != checked_.end() && known->second == now) return;
  if (static_cast<std::uint64_t>(now.bytes) != file.bytes)
    throw damaged(path, "has " + std::to_string(now.bytes) + " bytes, it was stored with " + std::to_string(file.bytes));
  const auto progress = [&](std::uint64_t done) { progress_.checks(path, done, file.bytes, Clock::now()); };
  if (manifest::sum_of_file(path, 0, file.bytes, progress).checksum != file.checksum)
    throw damaged(path, "does not match its checksum");
  checked_[path] = now;
}

void RestartReader::read_parts(const manifest::StepEntry& step, const dc_read_t& read) {
  const manifest::FoundParts found = manifest::find_parts(step, read);
  const manifest::FileEntry* open = nullptr;
  std::string path;
  std::unique_ptr<DatasetReader> reader;
  const auto require_unchanged = [&] {
    if (open != nullptr && !(state_of(path) == checked_.at(path))) throw damaged(path, "was changed or replaced while it was read");
  };
  for (const manifest::StoredPart& part : found.parts) {
    if (part.file != open) {
      require_unchanged();
      path = manifest_.folder() + "/" + part.file->name;
      check_file(*part.file, path);
      reader = std::make_unique<DatasetReader>(path);
      open = part.file;
    }
    try {
      reader->read(part, *read.variable, {static_cast<std::byte*>(read.data), found.frame});
    } catch (const Failure& failure) {
      throw Failure(part.file->name + ": " + failure.what(), failure.system_error());
    }
    progress_.took(read.bytes / found.parts.size(), Clock::now());  // about: parts differ in size
  }
  require_unchanged();
}

std::int64_t RestartReader::last_step(const dc_variable_info_t* variable) {
  const auto& all = steps();
  const auto good = [&](const auto& entry) {
    return !is_replaced(entry.first) && entry.second.complete &&
           (variable == nullptr ? entry.second.has_files() : !files_of(entry.first, variable->path).files.empty());
  };
  const auto found = std::find_if(all.rbegin(), all.rend(), good);
  if (found != all.rend()) {
    require_undamaged(found->first);
    return found->first;
  }
  throw Error(DC_E_NOT_STORED, "no complete step" + (variable == nullptr ? "" : " with '" + std::string(variable->path) + "'") +
                                   " is in " + basename());
}

}  // namespace damaris::hdf5
