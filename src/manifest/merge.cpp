// What two records about one step make together.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "entries.hpp"

namespace damaris::manifest {
namespace {

// Servers that write a file together report the same failure.
void add_new(std::vector<std::string>& sentences, std::string&& more) {
  if (std::find(sentences.begin(), sentences.end(), more) == sentences.end()) sentences.push_back(std::move(more));
}

// Of one server usually a single value, among those of thousands.
template <class T>
void insert_sorted(std::vector<T>& into, std::vector<T>&& more) {
  for (T& one : more) {
    const auto place = into.empty() || into.back() < one ? into.end() : std::lower_bound(into.begin(), into.end(), one);
    if (place == into.end() || one < *place) into.insert(place, std::move(one));
  }
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

// Servers that write a file together record a part of it each.
void add_files(std::vector<FileEntry>& into, std::vector<FileEntry>&& more, bool again) {
  if (more.empty()) return;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].name, i);
  for (FileEntry& file : more) {
    const auto [same, is_new] = known.emplace(file.name, into.size());
    if (is_new) {
      into.push_back(std::move(file));
    } else if (FileEntry& its = into[same->second]; again) {
      its = std::move(file);
    } else {
      its.server = std::min(its.server, file.server);
      std::move(file.datasets.begin(), file.datasets.end(), std::back_inserter(its.datasets));
    }
  }
  std::sort(into.begin(), into.end(),
            [](const FileEntry& a, const FileEntry& b) { return std::tie(a.server, a.name) < std::tie(b.server, b.name); });
}

void join(StepEntry& into, StepEntry&& other) {
  const bool again = std::binary_search(into.reporters.begin(), into.reporters.end(), other.reporters.front());
  const auto sum = [&](auto& one, const auto& more) { again ? void(one = std::max(one, more)) : void(one += more); };
  if (!into.time) into.time = other.time;
  insert_sorted(into.servers, std::move(other.servers));
  insert_sorted(into.reporters, std::move(other.reporters));
  into.complete = into.complete && other.complete;
  into.recovered = into.recovered || other.recovered;
  sum(into.total.datasets, other.total.datasets);
  sum(into.total.raw_bytes, other.total.raw_bytes);
  sum(into.total.stored_bytes, other.total.stored_bytes);
  insert_sorted(into.absent, std::move(other.absent));
  insert_sorted(into.missing, std::move(other.missing));
  sum(into.never_attached, other.never_attached);
  insert_sorted(into.skipped, std::move(other.skipped));
  for (std::string& failure : other.failures) add_new(into.failures, std::move(failure));
  into.dropped = into.dropped || other.dropped;
  into.reduced = into.reduced || other.reduced;
  sum(into.waits, other.waits);
  sum(into.spilled_bytes, other.spilled_bytes);
  for (std::string& warning : other.warnings) add_new(into.warnings, std::move(warning));
  into.retries = std::max(into.retries, other.retries);
  into.waited_s = std::max(into.waited_s, other.waited_s);
  into.stored_s = std::max(into.stored_s, other.stored_s);
  into.memory_bytes = std::max(into.memory_bytes, other.memory_bytes);
  into.at = std::max(into.at, other.at);
}

}  // namespace damaris::manifest
