#include "shared_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"
#include "manifest/output_folder.hpp"

namespace damaris::hdf5 {
namespace {

// Each server syncs its own bytes: servers on other nodes cannot. The descriptor is open from before the first write, so fsync reports all
// failures.
class OwnSync {
 public:
  explicit OwnSync(const std::string& path) : path_(path), descriptor_(open_own(path, O_RDWR, 0666)) {
    if (descriptor_ < 0) throw_system_failure(errno, "open", path_);
  }
  ~OwnSync() { ::close(descriptor_); }
  OwnSync(const OwnSync&) = delete;
  OwnSync& operator=(const OwnSync&) = delete;
  int descriptor() const { return descriptor_; }
  void sync() const {
    if (::fsync(descriptor_) != 0) throw_system_failure(errno, "sync", path_);
  }

 private:
  std::string path_;
  int descriptor_;
};

// NaN becomes null.
std::string to_text(const std::vector<Summary>& found) {
  Json json = Json::array();
  for (const Summary& one : found) json.push_back({one.min, one.max, one.error});
  return text_of(json);
}

void add_text(std::vector<Summary>& into, const std::string& text) {
  const Json json = Json::parse(text);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Json& one = json.at(i);
    Summary next;
    if (!one.at(0).is_null()) next.min = one.at(0).get<double>();
    if (!one.at(1).is_null()) next.max = one.at(1).get<double>();
    next.error = one.at(2).get<double>();
    into[i].add(next);
  }
}

std::uint32_t sum_of(const Overlap& overlap, const SharedPart& part, const dc_step_t& step) {
  Staging staging;
  const Piece piece = {"", overlap.variable, true, true, part.box, {{&block_of(*overlap.variable, part, step), part.box}}, false};
  const std::byte* values = elements_of(piece, part.box, staging);
  return codec::crc32(values, static_cast<std::size_t>(volume(part.box)) * overlap.variable->element_bytes);
}

std::uint64_t raw_bytes_of(const SharedLayout& layout) {
  std::uint64_t bytes = 0;
  for (const SharedDataset& dataset : layout.datasets)
    for (const SharedPart& part : dataset.parts)
      bytes += static_cast<std::uint64_t>(volume(part.box)) * dataset.variable->element_bytes;
  return bytes;
}

}  // namespace

void check_can_share(const dc_host_t& host) {
  for (std::size_t i = 0; i < host.setting_count; ++i)
    if (const std::string key = host.settings[i].key, value = host.settings[i].value;
        key == "files" && (value == "per-group" || value == "single"))
      check_can_write_together(host, value);
}

SharedFiles::SharedFiles(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names,
                         std::function<void(const std::string&)> begin)
    : host_(host),
      settings_(settings),
      names_(names),
      begin_(std::move(begin)),
      team_(host, group_of(host, settings), settings.turn_timeout_ms),
      creator_(host, group_of(host, settings), settings.filters),
      writer_(team_, settings.filters) {}

manifest::FileEntry SharedFiles::write(const dc_step_t& step, const std::function<void()>& check, const AskForVote& vote) try {
  return write_together(
      step.step, &step, [] {}, check);
} catch (const Failure& failure) {
  throw SharedFailure(failure, agree_after(failure, vote));
}

// All get the same failure, so all vote or none does. One that wants to give up the step decides for all; else one that wants to try again.
Vote SharedFiles::agree_after(const Failure& failure, const AskForVote& vote) {
  if (!may_be_transient(failure.system_error()) || !team_.is_whole()) return Vote::give_up;
  Vote agreed = Vote::abstain;
  try {
    for (const std::string& text : team_.run_on_all([&] { return std::to_string(static_cast<int>(vote(failure))); }))
      agreed = std::max(agreed, static_cast<Vote>(std::stoi(text)));
  } catch (const Failure&) {  // a server is late
    return Vote::give_up;
  }
  return agreed;
}

void SharedFiles::attend(std::int64_t step, const std::string& why_not) try {
  const auto may_begin = [&] {
    if (!why_not.empty()) throw Failure(why_not, kRemedyIncluded);
  };
  write_together(step, nullptr, may_begin, [] {});
} catch (const Failure& failure) {
  if (agree_after(failure, [](const Failure&) { return Vote::abstain; }) != Vote::give_up) return;
  const std::string line = "hdf5: " + names_.final_path(step) + ", to which this server contributes no data: " + failure.what();
  host_.log(host_.self, 1, line.c_str());
}

// Each operation that may fail is run on all servers, because the others would wait for a server that left early.
manifest::FileEntry SharedFiles::write_together(std::int64_t number, const dc_step_t* step, const std::function<void()>& may_begin,
                                                const std::function<void()>& check) {
  team_.gather();
  const std::vector<std::string> offers = team_.run_on_all([&] {
    may_begin();
    return to_text(offer_of(host_, step));
  });
  SharedLayout layout;
  std::optional<OutputFile> output;  // on the leader: removed unless published
  const auto prepare = [&] {
    layout = layout_from(offers);
    if (!team_.leads()) return std::string();
    warn_of_scattered(layout, number);
    output.emplace(names_.temporary_path(number), names_.final_path(number));
    creator_.make(*output, number, layout);
    return output->temporary_path();
  };
  const std::string path = team_.run_on_all(prepare).front();
  settle(layout, step);
  manifest::FileEntry entry;
  entry.name = names_.final_name(number);
  entry.server = host_.server_index;
  const std::vector<std::string> found = fill(path, layout, step, check, entry);
  const std::uint64_t bytes = std::stoull(team_.run_on_leader([&] { return std::to_string(finish(*output, layout, found)); }));
  entry.checksum = checksum_of(path, bytes);
  entry.bytes = std::stoull(team_.run_on_leader([&] { return std::to_string(publish(*output, layout)); }));
  return entry;
}

// Overlapping blocks with equal values are not reported; of others the first of each variable, by every member.
void SharedFiles::settle(const SharedLayout& layout, const dc_step_t* step) {
  hidden_.clear();
  if (layout.overlaps.empty()) return;
  const std::vector<std::string> texts = team_.run_on_all([&] {
    Json own = Json::array();  // [place, sum] of each part of this member
    std::size_t place = 0;
    for (const Overlap& overlap : layout.overlaps)
      for (const SharedPart* part : {&overlap.shown, &overlap.hidden}) {
        if (part->member == team_.member()) own.push_back({place, sum_of(overlap, *part, *step)});
        ++place;
      }
    return text_of(own);
  });
  std::vector<std::uint32_t> sums(2 * layout.overlaps.size());
  for (const std::string& text : texts)
    for (const Json& one : Json::parse(text)) sums.at(one.at(0).get<std::size_t>()) = one.at(1).get<std::uint32_t>();
  for (std::size_t i = 0; i < layout.overlaps.size(); ++i) {
    const Overlap& overlap = layout.overlaps[i];
    const bool is_known = !hidden_.empty() && hidden_.back().variable == overlap.variable;  // sorted by variable
    if (!is_known && sums[2 * i] != sums[2 * i + 1]) hidden_.push_back(overlap);
  }
}

// Warns once per variable.
void SharedFiles::warn_of_scattered(const SharedLayout& layout, std::int64_t step) {
  for (const std::string& variable : layout.scattered) {
    if (!scattered_.insert(variable).second) continue;
    const std::string line =
        "hdf5: step " + std::to_string(step) + ": the positions of '" + variable +
        "' are so far apart that its blocks are stored separately; check the positions, and 'global' of its layout";
    host_.log(host_.self, 1, line.c_str());
  }
}

SharedLayout SharedFiles::layout_from(const std::vector<std::string>& offers) const {
  std::vector<Offer> all;
  for (const std::string& text : offers) all.push_back(offer_from(text, host_));
  return shared_layout_of(all, host_);
}

// Returns the properties of the values that each server computed.
std::vector<std::string> SharedFiles::fill(const std::string& path, const SharedLayout& layout, const dc_step_t* step,
                                           const std::function<void()>& check, manifest::FileEntry& entry) {
  std::optional<OwnSync> own;
  team_.run_on_all([&] {
    own.emplace(path);
    return std::string();
  });
  return team_.run_on_all([&] {
    BoxWriter::Result result = writer_.write({path, own->descriptor()}, layout, step);
    check();
    own->sync();
    entry.datasets = std::move(result.boxes);
    return to_text(result.found);
  });
}

// Returns the size of the file, which is final.
std::uint64_t SharedFiles::finish(OutputFile& output, const SharedLayout& layout, const std::vector<std::string>& texts) const {
  std::vector<Summary> found(layout.datasets.size());
  for (const std::string& text : texts) add_text(found, text);
  creator_.label(output, layout, found);
  output.sync();
  return std::filesystem::file_size(output.temporary_path());
}

// Each member reads an equal part of the file, because only HDF5 knows which member wrote which bytes.
std::uint32_t SharedFiles::checksum_of(const std::string& path, std::uint64_t bytes) {
  const auto begin_of = [&](int member) {
    return bytes / static_cast<std::uint64_t>(team_.size()) * static_cast<std::uint64_t>(member);
  };
  const auto end_of = [&](int member) { return member + 1 == team_.size() ? bytes : begin_of(member + 1); };
  const std::vector<std::string> parts = team_.run_on_all([&] {
    const std::uint64_t begin = begin_of(team_.member()), end = end_of(team_.member());
    const manifest::FileSum sum = manifest::sum_of_file(path, begin, end);
    if (sum.bytes != end - begin) throw Failure("'" + path + "' is shorter than it was written", EIO);
    return std::to_string(sum.checksum);
  });
  std::uint32_t checksum = 0;
  for (int member = 0; member < team_.size(); ++member)
    checksum = codec::crc32_joined(checksum, static_cast<std::uint32_t>(std::stoul(parts[static_cast<std::size_t>(member)])),
                                   end_of(member) - begin_of(member));
  return checksum;
}

// Chunks rarely need all the space that was reserved for them. HDF5 gives it back only if it shortens the file.
void SharedFiles::give_back_reserve(const OutputFile& output) {
  struct stat facts = {};
  const bool is_known = ::fstat(output.descriptor(), &facts) == 0;
  if (is_known && ::ftruncate(output.descriptor(), facts.st_size) != 0)
    throw_system_failure(errno, "shorten", output.temporary_path());
}

std::uint64_t SharedFiles::publish(OutputFile& output, const SharedLayout& layout) const {
  give_back_reserve(output);
  const std::uint64_t bytes = output.publish(settings_.existing != manifest::Existing::refuse);
  begin_(std::filesystem::path(output.final_path()).filename().string());
  host_.stored(host_.self, output.final_path().c_str(), bytes, raw_bytes_of(layout));
  return bytes;
}

}  // namespace damaris::hdf5
