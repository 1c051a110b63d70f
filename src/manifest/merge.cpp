// What two lines of the manifest about one step make together.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "entries.hpp"
#include "file_entries.hpp"

namespace damaris::manifest {
namespace {

// Servers that write a file together report the same failure.
void add_new(std::vector<std::string>& sentences, std::string&& more) {
  if (std::find(sentences.begin(), sentences.end(), more) == sentences.end()) sentences.push_back(std::move(more));
}

// Handles a line that was added twice, for instance by two concurrent recoveries.
void add_datasets_once(FileEntry& file, std::vector<DatasetEntry>&& more) {
  const std::size_t known = file.datasets.size();
  for (DatasetEntry& dataset : more) {
    const auto end = file.datasets.begin() + static_cast<std::ptrdiff_t>(known);
    const auto is_it = [&, text = to_json(dataset)](const DatasetEntry& other) {
      return other.path == dataset.path && to_json(other) == text;
    };
    if (std::none_of(file.datasets.begin(), end, is_it)) file.datasets.push_back(std::move(dataset));
  }
}

// `same`: the known entry of the file.
void join(FileEntry& same, FileEntry&& more, LineOrigin origin) {
  if (origin == LineOrigin::replacing) return void(same = std::move(more));
  same.server = std::min(same.server, more.server);
  if (origin == LineOrigin::repeated && !more.is_shared())
    return;  // one server wrote it, and the existing line may be from a recovery
  if (origin == LineOrigin::repeated) return add_datasets_once(same, std::move(more.datasets));
  std::move(more.datasets.begin(), more.datasets.end(), std::back_inserter(same.datasets));
}

// Of one server usually a single value, among those of thousands.
template <class T>
void insert_sorted(std::vector<T>& into, std::vector<T>&& more) {
  for (T& one : more) {
    const auto place = into.empty() || into.back() < one ? into.end() : std::lower_bound(into.begin(), into.end(), one);
    if (place == into.end() || one < *place) into.insert(place, std::move(one));
  }
}

// A recovered file replaces the dead server's. So does the later one of an independent server, which has come back into its run. One
// of connected servers cannot come back: its second line repeats the first.
LineOrigin origin_of(const StepEntry& line, bool again) {
  if (line.recovered) return LineOrigin::replacing;
  if (!again) return LineOrigin::another_server;
  const bool is_independent = !line.reporters.front().first.empty();
  return is_independent ? LineOrigin::replacing : LineOrigin::repeated;
}

// Those in shards stay there until they are asked for.
void merge_files(StepEntry& into, StepEntry& other, LineOrigin origin) {
  add(into.total, other.total);
  if (into.described.empty() && into.later.empty() && other.described.empty())
    return add_files(into.files, std::move(other.files), origin);
  if (!other.files.empty() || !other.described.empty())
    into.later.push_back({origin, std::move(other.files), std::move(other.described)});
  std::move(other.later.begin(), other.later.end(), std::back_inserter(into.later));
}

std::int32_t lowest_source_of(const DatasetEntry& dataset) {
  if (dataset.is_stack()) return *std::min_element(dataset.sources.begin(), dataset.sources.end());
  return dataset.source >= 0 ? dataset.source : dataset.lowest_source;
}

}  // namespace

void put_in_order(std::vector<DatasetInFile>& datasets) {
  std::stable_sort(datasets.begin(), datasets.end(), [](const DatasetInFile& a, const DatasetInFile& b) {
    const std::int32_t left = lowest_source_of(*a.dataset), right = lowest_source_of(*b.dataset);
    return std::tie(left, a.file->server, a.file->name) < std::tie(right, b.file->server, b.file->name);
  });
}

FilesTotal total_of(const std::vector<FileEntry>& files) {
  FilesTotal total;
  for (const FileEntry& file : files) {
    total.datasets += file.datasets.size();
    total.stored_bytes += file.bytes;
    for (const DatasetEntry& dataset : file.datasets) total.raw_bytes += dataset.raw_bytes;
  }
  return total;
}

void add(FilesTotal& into, const FilesTotal& more) {
  into.datasets += more.datasets;
  into.raw_bytes += more.raw_bytes;
  into.stored_bytes += more.stored_bytes;
}

void add_files(std::vector<FileEntry>& into, std::vector<FileEntry>&& more, LineOrigin origin) {
  if (more.empty()) return;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].name, i);
  for (FileEntry& file : more) {
    const auto [same, is_new] = known.emplace(file.name, into.size());
    if (is_new)
      into.push_back(std::move(file));
    else
      join(into[same->second], std::move(file), origin);
  }
  std::sort(into.begin(), into.end(),
            [](const FileEntry& a, const FileEntry& b) { return std::tie(a.server, a.name) < std::tie(b.server, b.name); });
}

void merge(StepEntry& into, StepEntry&& other) {
  if (!into.time) into.time = other.time;
  const bool again = std::any_of(other.reporters.begin(), other.reporters.end(), [&](const auto& reporter) {
    return std::binary_search(into.reporters.begin(), into.reporters.end(), reporter);
  });
  const LineOrigin origin = origin_of(other, again);
  insert_sorted(into.servers, std::move(other.servers));
  insert_sorted(into.reporters, std::move(other.reporters));
  into.complete = into.complete && other.complete;
  merge_files(into, other, origin);
  into.recovered = into.recovered || other.recovered;
  insert_sorted(into.absent, std::move(other.absent));
  insert_sorted(into.missing, std::move(other.missing));
  into.never_attached = again ? std::max(into.never_attached, other.never_attached) : into.never_attached + other.never_attached;
  insert_sorted(into.skipped, std::move(other.skipped));
  for (std::string& failure : other.failures) add_new(into.failures, std::move(failure));
  into.dropped = into.dropped || other.dropped;
  into.reduced = into.reduced || other.reduced;
  into.waits = again ? std::max(into.waits, other.waits) : into.waits + other.waits;
  into.spilled_bytes = again ? std::max(into.spilled_bytes, other.spilled_bytes) : into.spilled_bytes + other.spilled_bytes;
  for (std::string& warning : other.warnings) add_new(into.warnings, std::move(warning));
  into.retries = std::max(into.retries, other.retries);
  into.waited_s = std::max(into.waited_s, other.waited_s);
  into.stored_s = std::max(into.stored_s, other.stored_s);
  into.memory_bytes = std::max(into.memory_bytes, other.memory_bytes);
  into.at = std::max(into.at, other.at);
}

}  // namespace damaris::manifest
