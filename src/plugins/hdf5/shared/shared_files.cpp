#include "shared_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>

#include "../layout/gather.hpp"
#include "chunk_exchange.hpp"
#include "codec/checksum.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"
#include "core/base/retry.hpp"
#include "manifest/file_sum.hpp"

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
  void sync() const {
    if (::fsync(descriptor_) != 0) throw_system_failure(errno, "sync", path_);
  }

 private:
  std::string path_;
  int descriptor_;
};

Json to_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
std::optional<double> number_from(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<double>(json.get<double>());
}

std::string to_text(const std::vector<Found>& found) {
  Json json = Json::array();
  for (const Found& one : found) json.push_back({to_json(one.min), to_json(one.max), to_json(one.largest_error)});
  return text_of(json);
}

void merge_text(std::vector<Found>& into, const std::string& text) {
  const Json json = Json::parse(text);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Json& one = json.at(i);
    merge(into[i], {number_from(one.at(0)), number_from(one.at(1)), number_from(one.at(2))});
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

// This member's share of the chunks' stored size.
void note_stored_bytes(const SharedDataset& dataset, std::uint64_t all, std::vector<manifest::DatasetEntry>& entries) {
  std::int64_t values = 0;
  for (const SharedPart& part : dataset.parts) values += volume(part.box);
  for (manifest::DatasetEntry& one : entries)
    one.stored_bytes =
        static_cast<std::uint64_t>(static_cast<double>(all) * static_cast<double>(volume(one.box)) / static_cast<double>(values));
}

}  // namespace

void check_can_share(const dc_host_t& host) {
  for (std::size_t i = 0; i < host.setting_count; ++i)
    if (const std::string key = host.settings[i].key, value = host.settings[i].value;
        key == "files" && (value == "per-group" || value == "single"))
      check_can_write_together(host, value);
}

SharedFiles::SharedFiles(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names, NewFiles& files,
                         ChunkEncoder& encoder, std::function<void(const std::string&)> begin)
    : host_(host),
      settings_(settings),
      names_(names),
      begin_(std::move(begin)),
      files_(files),
      encoder_(encoder),
      team_(host, group_of(host, settings), settings.turn_timeout_ms, settings.hints),
      plan_(team_, settings.filters, encoder.codec_bytes()),
      creator_(host, group_of(host, settings)),
      writer_(team_) {}

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
    if (!why_not.empty()) throw Failure(why_not, kNoRemedy);
  };
  write_together(step, nullptr, may_begin, [] {});
} catch (const Refused&) {  // the servers with the values report it
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
  Writing writing = {number, step};
  plan(writing, offers);
  prepare(writing);
  settle(writing.layout, step);
  if (writing.has_chunks) fill_chunks(writing);
  const std::vector<std::string> found = fill_plain(writing, check);
  return finish(writing, found);
}

void SharedFiles::plan(Writing& writing, const std::vector<std::string>& offers) {
  team_.run_on_all([&] {
    writing.layout = layout_from(offers);
    return std::string();
  });
  plan_.apply(writing.layout, writing.step, encoder_.staging());
  writing.has_chunks = ChunkExchange::has_work(writing.layout);
  writing.has_plain = BoxWriter::has_work(writing.layout);
  writing.records.resize(writing.layout.datasets.size());
}

// The leader alone creates the file. It stays open for the chunks; all open it for the plain values when it is closed.
void SharedFiles::prepare(Writing& writing) {
  writing.path = team_.run_on_leader([&] {
    warn_of_scattered(writing.layout, writing.number);
    writing.output = files_.create(names_.temporary_path(writing.number), names_.final_path(writing.number));
    const OutputFile& output = *writing.output;
    Hdf5File& file = writing.file.emplace(output.descriptor(), output.temporary_path(), Hdf5File::Mode::create, files_.alignment());
    if (!writing.has_plain) file.target().write_back_early();
    creator_.make(file, writing.number, writing.layout);
    if (!writing.has_chunks) close(writing);
    return output.temporary_path();
  });
}

void SharedFiles::close(Writing& writing) {
  writing.file->close();
  if (writing.has_plain) DatasetCreator::reserve(*writing.output);
}

// Overlapping blocks with equal values are not reported.
void SharedFiles::settle(const SharedLayout& layout, const dc_step_t* step) {
  hidden_.clear();
  if (layout.overlaps.empty()) return;
  const std::vector<std::string> texts = team_.run_on_all([&] {
    Json sums = Json::array();
    for (const Overlap& overlap : layout.overlaps)
      for (const SharedPart* part : {&overlap.shown, &overlap.hidden})
        sums.push_back(part->member == team_.member() ? sum_of(overlap, *part, *step) : 0);
    return text_of(sums);
  });
  std::vector<Json> sums;
  for (const std::string& text : texts) sums.push_back(Json::parse(text));
  const auto sum = [&](const SharedPart& part, std::size_t place) {
    return sums[static_cast<std::size_t>(part.member)].at(place).get<std::uint32_t>();
  };
  for (std::size_t i = 0; i < layout.overlaps.size(); ++i) {
    const Overlap& overlap = layout.overlaps[i];
    const bool is_known = !hidden_.empty() && hidden_.back().variable == overlap.variable;  // sorted by variable
    if (!is_known && overlap.hidden.member == team_.member() && sum(overlap.shown, 2 * i) != sum(overlap.hidden, 2 * i + 1))
      hidden_.push_back(overlap);
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

// Once: MPI uses the same ones for each file.
void SharedFiles::warn_of_hints() {
  if (writer_.unused_hints().empty() || std::exchange(has_warned_of_hints_, true)) return;
  std::string names;
  for (const std::string& hint : writer_.unused_hints()) names += (names.empty() ? "" : ", ") + hint;
  const std::string line = "hdf5: MPI-IO does not use " + names +
                           " of mpi-hints: this MPI library does not know the name, or not the value; see its documentation";
  host_.log(host_.self, 1, line.c_str());
}

SharedLayout SharedFiles::layout_from(const std::vector<std::string>& offers) const {
  std::vector<Offer> all;
  for (const std::string& text : offers) all.push_back(offer_from(text, host_));
  return shared_layout_of(all, host_);
}

// The leader has written all chunks, and knows how many bytes they take.
void SharedFiles::fill_chunks(Writing& writing) {
  const std::string text = team_
                               .run_on_all([&] {
                                 std::optional<ChunkStore> store;
                                 if (team_.leads()) store.emplace(*writing.file, writing.layout, team_.size());
                                 ChunkExchange exchange(team_, encoder_, writing.layout, writing.step, store ? &*store : nullptr);
                                 writing.records = exchange.run();
                                 if (!store) return std::string();
                                 close(writing);
                                 return text_of(Json(store->stored_bytes()));
                               })
                               .front();
  const Json stored_bytes = Json::parse(text);
  for (std::size_t i = 0; i < writing.records.size(); ++i)
    note_stored_bytes(writing.layout.datasets[i], stored_bytes.at(i).get<std::uint64_t>(), writing.records[i]);
}

// Returns the properties of the values that each server computed.
std::vector<std::string> SharedFiles::fill_plain(Writing& writing, const std::function<void()>& check) {
  std::optional<OwnSync> own;
  if (writing.has_plain)
    team_.run_on_all([&] {
      own.emplace(writing.path);
      return std::string();
    });
  return team_.run_on_all([&] {
    BoxWriter::Result result = writer_.write(writing.path, writing.layout, writing.step);
    check();
    if (own) own->sync();
    if (team_.leads()) warn_of_hints();
    for (std::size_t i = 0; i < result.boxes.size(); ++i)
      if (!writing.layout.datasets[i].chunk) writing.records[i] = std::move(result.boxes[i]);
    return to_text(result.found);
  });
}

manifest::FileEntry SharedFiles::finish(Writing& writing, const std::vector<std::string>& found) {
  const Json synced = Json::parse(team_.run_on_leader([&] { return sync(writing, found); }));
  manifest::FileEntry entry;
  entry.name = names_.final_name(writing.number);
  entry.server = host_.server_index;
  for (std::vector<manifest::DatasetEntry>& boxes : writing.records)
    std::move(boxes.begin(), boxes.end(), std::back_inserter(entry.datasets));
  entry.checksum =
      writing.has_plain ? checksum_of(writing.path, synced.at(0).get<std::uint64_t>()) : synced.at(1).get<std::uint32_t>();
  entry.bytes = std::stoull(team_.run_on_leader([&] { return std::to_string(publish(writing)); }));
  return entry;
}

// The size of the file, which is final, and its checksum, if the leader alone has written it.
std::string SharedFiles::sync(Writing& writing, const std::vector<std::string>& texts) {
  if (writing.has_plain) {
    std::vector<Found> found(writing.layout.datasets.size());
    for (const std::string& text : texts) merge_text(found, text);
    DatasetCreator::label(*writing.output, writing.layout, found);
  }
  writing.output->sync();
  const std::uint64_t bytes = std::filesystem::file_size(writing.path);
  return text_of(Json{bytes, writing.has_plain ? 0U : writing.file->checksum()});
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

// HDF5 gives back what is reserved beyond the end only if it shortens the file.
void SharedFiles::give_back_reserve(const OutputFile& output) {
  struct stat facts = {};
  const bool is_known = ::fstat(output.descriptor(), &facts) == 0;
  if (is_known && ::ftruncate(output.descriptor(), facts.st_size) != 0)
    throw_system_failure(errno, "shorten", output.temporary_path());
}

std::uint64_t SharedFiles::publish(Writing& writing) const {
  OutputFile& output = *writing.output;
  if (writing.has_plain) give_back_reserve(output);
  const std::uint64_t bytes = output.publish(settings_.existing != manifest::Existing::refuse);
  begin_(std::filesystem::path(output.final_path()).filename().string());
  host_.stored(host_.self, output.final_path().c_str(), bytes, raw_bytes_of(writing.layout));
  return bytes;
}

}  // namespace damaris::hdf5
