#include "records.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"
#include "entries.hpp"

namespace damaris::manifest {
namespace {

constexpr std::string_view kSeal = R"(,"crc32":")", kEnd = "\"}";
constexpr std::size_t kDigits = 8, kSealBytes = kSeal.size() + kDigits + kEnd.size();

std::string checksum_of(std::string_view text) { return text_of_checksum(codec::crc32(text.data(), text.size())).substr(6); }

bool is_too_deep(std::string_view text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size() && depth <= kMaxDepth; ++i) {
    const char c = text[i];
    if (in_quotes && c == '\\') ++i;
    if (c == '"') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
  }
  return depth > kMaxDepth;
}

}  // namespace

std::string sealed(std::string object) {
  object.pop_back();
  const std::string checksum = checksum_of(object);
  return object.append(kSeal).append(checksum).append(kEnd);
}

bool is_whole(std::string_view line) {
  if (line.size() < kSealBytes || is_too_deep(line)) return false;
  const std::string_view body = line.substr(0, line.size() - kSealBytes);
  return line.substr(body.size()) == std::string(kSeal) + checksum_of(body) + std::string(kEnd);
}

namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;  // enough for a step with a million datasets

}  // namespace

bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take) {
  const auto fail = [&path](const std::string& why, int error) { throw Failure("cannot read " + path + ": " + why, error); };
  const StoredFileReader file(path);
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file.is_open()) fail(why_not_read(path, errno), errno);
  std::string line;
  std::vector<char> block(kBlockBytes);
  for (;;) {
    const std::ptrdiff_t got = file.read(block.data(), kBlockBytes, from);
    if (got < 0) fail(std::strerror(errno), errno);
    if (got == 0) return true;
    from += static_cast<std::uint64_t>(got);
    const char* at = block.data();
    const char* const end = at + got;
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      const char* const newline = static_cast<const char*>(found);
      line.append(at, newline);
      if (!take(line)) return true;
      line.clear();
      at = newline + 1;
    }
    line.append(at, end);
    if (line.size() > kMaxLineBytes) fail("a line is longer than 256 MiB, so the file is damaged or not a manifest", EFBIG);
  }
}

namespace {

constexpr int kLogVersion = 4;          // 1 to 3: one file for all servers
constexpr int kMaxServers = 1'000'000;  // more than any machine has nodes; bounds what a reader allocates
constexpr std::string_view kFiles = R"(,"files":)";

// The properties of a dataset that a step changes.
template <class Each>
void for_each_column(Each&& each) {
  each("stored_bytes", &DatasetEntry::stored_bytes);
  each("checksums", &DatasetEntry::checksum);
  each("min", &DatasetEntry::min);
  each("max", &DatasetEntry::max);
  each("largest_error", &DatasetEntry::largest_error);
  each("scale", &DatasetEntry::scale);
  each("offset", &DatasetEntry::offset);
}

template <class T>
Json json_of(const T& value) {
  return value;
}
// JSON has no NaN or Inf.
Json json_of(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

// A column that no dataset has is left out.
template <class T>
void put_column(Json& file, const char* key, const std::vector<DatasetEntry>& datasets, T DatasetEntry::*member) {
  Json column = Json::array();
  bool is_used = false;
  for (const DatasetEntry& dataset : datasets) {
    column.push_back(json_of(dataset.*member));
    is_used = is_used || !column.back().is_null();
  }
  if (is_used) file[key] = std::move(column);
}

template <class T>
void take(const Json& value, T& to) {
  read_value(value, to);
}
void take(const Json& value, std::optional<double>& to) {
  if (!value.is_null()) read_value(value, to.emplace());
}

// Throws for the name of a file that is not next to the manifest.
void check_name(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) throw Error(DC_E_IO, "a file's name is '" + name + "'");
}

std::uint32_t checksum_from(const std::string& text) {
  const std::string digits = text.substr(std::min<std::size_t>(6, text.size()));
  if (text.compare(0, 6, "crc32:") != 0 || digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Error(DC_E_IO, "'" + text + "' is not a checksum such as crc32:0123abcd");
  return static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16));
}

// The values of dataset `place` of the file.
void take_values(const Json& file, std::size_t place, DatasetEntry& dataset) {
  for_each_column([&](const char* key, auto member) {
    if (const auto column = file.find(key); column != file.end()) take(column->at(place), dataset.*member);
  });
}

FileEntry file_with(const FileEntry& facts, const Json& values, const std::string& variable) {
  FileEntry file;
  file.server = facts.server;
  read_value(values.at("name"), file.name);
  check_name(file.name);
  read_value(values.at("bytes"), file.bytes);
  read_value(values.at("checksum"), file.checksum);
  for (std::size_t place = 0; place < facts.datasets.size(); ++place) {
    if (!variable.empty() && facts.datasets[place].variable != variable) continue;
    file.datasets.push_back(facts.datasets[place]);
    take_values(values, place, file.datasets.back());
  }
  return file;
}

}  // namespace

std::string facts_of(const std::vector<FileEntry>& files) {
  Json json = Json::array();
  for (const FileEntry& file : files) {
    Json datasets = Json::array();
    for (const DatasetEntry& dataset : file.datasets) datasets.push_back(facts_of(dataset));
    json.push_back({{"server", file.server}, {"datasets", std::move(datasets)}});
  }
  return text_of(json);
}

std::string values_of(const std::vector<FileEntry>& files) {
  Json json = Json::array();
  for (const FileEntry& file : files) {
    Json one = {{"name", file.name}, {"bytes", file.bytes}, {"checksum", file.checksum}};
    for_each_column([&](const char* key, auto member) { put_column(one, key, file.datasets, member); });
    json.push_back(std::move(one));
  }
  return text_of(json);
}

std::string record_of(const StepEntry& step, std::uint64_t n, const std::string& facts, std::uint64_t as) {
  StepEntry head = step;
  head.files.clear();
  head.total = total_of(step.files);
  Json json = {{"n", n}};
  json.update(to_json(head));
  std::string text = text_of(json);
  text.pop_back();
  if (step.files.empty()) return text + "}";
  text.append(kFiles).append(values_of(step.files));
  return (facts.empty() ? text + R"(,"as":)" + std::to_string(as) : text + R"(,"facts":)" + facts) + "}";
}

std::string_view kind_of(std::string_view line) {
  const std::size_t begin = line.find(",\"");
  const std::size_t end = begin == std::string_view::npos ? begin : line.find('"', begin + 2);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 2, end - begin - 2);
}

// Inside a string the quotes would be escaped, and no object of a step's head has such a key.
std::string head_of(const std::string& line) {
  const std::size_t end = kind_of(line) == "step" ? line.find(kFiles) : std::string::npos;
  return end == std::string::npos ? line : line.substr(0, end) + "}";
}

std::vector<FileEntry> files_from_facts(const Json& facts) {
  std::vector<FileEntry> files;
  for (const Json& one : facts) {
    FileEntry& file = files.emplace_back();
    read_value(one.at("server"), file.server);
    for (const Json& dataset : one.at("datasets")) file.datasets.push_back(dataset_from_facts(dataset));
  }
  return files;
}

std::vector<FileEntry> with_values(const std::vector<FileEntry>& facts, const Json& values, const std::string& variable) {
  if (facts.size() != values.size()) throw Error(DC_E_IO, "a step is damaged: it has another number of files than its facts");
  std::vector<FileEntry> files;
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (FileEntry file = file_with(facts[i], values.at(i), variable); variable.empty() || !file.datasets.empty())
      files.push_back(std::move(file));
  return files;
}

Json run_record(const RunEntry& run, const LogName& log) {
  Json json = {{"run", run.run},
               {"format", "damaris-manifest"},
               {"format_version", kLogVersion},
               {"simulation", run.simulation},
               {"generation", log.generation},
               {"host", log.host},
               {"server", log.server},
               {"servers", run.apart ? 0 : run.servers},
               {"job", run.job},
               {"identity", run.identity},
               {"replaces", run.replaces_all ? "all" : "later"}};
  if (!run.regions.empty()) json["regions"] = run.regions;
  if (run.declared) json["variables"] = *run.declared;
  return json;
}

RunEntry run_from_record(const Json& record, const LogName& log) try {
  int version = 0;
  read_value(record.at("format_version"), version);
  if (version > kLogVersion)
    throw Error(DC_E_VERSION, "the manifest has version " + std::to_string(version) + ", this program knows up to " +
                                  std::to_string(kLogVersion) + "; use a newer Damaris");
  LogName its;
  read_value(record.at("generation"), its.generation);
  read_value(record.at("host"), its.host);
  read_value(record.at("server"), its.server);
  if (!(its == log))
    throw Error(DC_E_IO, "it is the log of server " + std::to_string(its.server) + " of " + its.host + " in run " +
                             std::to_string(its.generation) + " of a basename: it was renamed or exchanged");
  RunEntry run;
  read_value(record.at("run"), run.run);
  read_value(record.at("simulation"), run.simulation);
  read_value(record.at("servers"), run.servers);
  if (run.servers < 0 || run.servers > kMaxServers) throw Error(DC_E_IO, "it has " + std::to_string(run.servers) + " servers");
  run.apart = run.servers == 0;
  read_value(record.at("job"), run.job);
  read_value(record.at("identity"), run.identity);
  run.replaces_all = record.at("replaces") == "all";
  run.regions = record.value("regions", "");
  if (const auto declared = record.find("variables"); declared != record.end())
    run.declared = std::make_shared<const Declarations>(declared->get<Declarations>());
  return run;
} catch (const Json::exception& error) {
  throw Error(DC_E_IO, std::string("the record of the run is damaged: ") + error.what());
}

Json view_record(const ViewEntry& view, std::uint64_t shown) {
  return {{"view", view.name}, {"bytes", view.bytes}, {"checksum", text_of_checksum(view.checksum)}, {"shown", shown}};
}

ViewEntry view_from_record(const Json& record) try {
  ViewEntry view;
  read_value(record.at("view"), view.name);
  check_name(view.name);
  read_value(record.at("bytes"), view.bytes);
  view.checksum = checksum_from(record.at("checksum").get<std::string>());
  return view;
} catch (const Json::exception& error) {
  throw Error(DC_E_IO, std::string("a view is damaged: ") + error.what());
}

Json back_record(const RunEntry& run) {
  Json json = {{"back", utc_now_ms()}};
  if (!run.regions.empty()) json["regions"] = run.regions;
  return json;
}

Json end_record(const Losses& losses, bool recovered) {
  Json json = {{"end", utc_now_ms()}};
  json.update(to_json(losses));
  if (recovered) json["recovered"] = true;
  return json;
}

}  // namespace damaris::manifest
