#include "log_reader.hpp"

#include <sys/stat.h>
#include <damaris/error.hpp>

#include <cerrno>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"
#include "records.hpp"

namespace damaris::manifest {
namespace {

constexpr std::size_t kMaxSentence = 500;  // a damaged line may have any length

}  // namespace

bool LogReader::was_replaced() {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) throw_system_failure(errno, "look at", path_);
    return true;
  }
  if (!S_ISREG(now.st_mode)) throw Failure(path_ + ": it is not a regular file", EINVAL);
  const bool same = (now.st_dev == device_ && now.st_ino == inode_ && static_cast<std::uint64_t>(now.st_size) >= offset_);
  const bool is_new = offset_ == 0;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  bytes_ = static_cast<std::uint64_t>(now.st_size);
  return !same && !is_new;
}

std::vector<LogRecord> LogReader::read_on(std::size_t limit) {
  std::vector<LogRecord> records;
  if (bytes_ == offset_) return records;
  for_whole_lines(path_, offset_, [&](const std::string& line) {
    take(line, records);
    offset_ += line.size() + 1;
    ++line_;
    return records.size() < limit;
  });
  is_cut_off_ = records.size() < limit && bytes_ > offset_;
  return records;
}

void LogReader::take(const std::string& line, std::vector<LogRecord>& records) {
  if (is_foreign_) return;
  const auto damaged = [&](const std::string& why) {
    records.emplace_back(DamagedRecord{place_of_line() + why.substr(0, kMaxSentence)});
  };
  if (!is_whole(line)) {
    next_.reset();
    return damaged("this line is damaged: its checksum does not match");
  }
  try {
    records.push_back(record_from(line, records));
  } catch (const Json::exception&) {
    damaged("this line is damaged: it is not JSON as in a manifest");
  } catch (const Error& error) {
    if (error.code() == DC_E_VERSION) throw Error(DC_E_VERSION, place_of_line() + error.what());
    is_foreign_ = line_ == 0;
    damaged(error.what());
  }
}

LogRecord LogReader::record_from(const std::string& line, std::vector<LogRecord>& records) {
  const Json json = Json::parse(head_of(line));
  std::uint64_t n = 0;
  read_value(json.at("n"), n);
  if (next_ && *next_ != n)
    records.emplace_back(
        DamagedRecord{place_of_line() + "this line does not follow the previous one: lines are missing, repeated or exchanged"});
  next_ = n + 1;
  if (json.contains("run")) return run_from_record(json, name_);
  if (json.contains("step")) {
    const Place place = {offset_, line.size()};
    if (line.find(R"(,"facts":)") != std::string::npos) with_facts_[n] = place;
    return StepRecord{step_from_json(json), place};
  }
  if (json.contains("view")) return ViewRecord{view_from_record(json), json.value("shown", std::uint64_t{0})};
  if (json.contains("back")) return BackRecord{json.value("regions", "")};
  json.at("end");
  return EndRecord{losses_from(json), json.value("recovered", false)};
}

Json LogReader::parsed_at(const Place& place) const {
  const StoredFileReader file(path_);
  require_open(file, path_);
  std::string line(place.bytes, '\0');
  const std::ptrdiff_t got = file.read(line.data(), line.size(), place.at);
  if (got < 0) throw_system_failure(errno, "read", path_);
  line.resize(static_cast<std::size_t>(got));
  if (line.size() < place.bytes || !is_whole(line))
    throw Error(DC_E_IO, path_ + " has changed since it was read, at byte " + std::to_string(place.at));
  return Json::parse(line);
}

const std::vector<FileEntry>& LogReader::facts_of(std::uint64_t n) {
  if (facts_ && facts_->first == n) return facts_->second;
  const auto found = with_facts_.find(n);
  if (found == with_facts_.end())
    throw Error(DC_E_IO,
                path_ + ": record " + std::to_string(n) + ", which describes the datasets of a step, is missing or damaged");
  facts_.emplace(n, files_from_facts(parsed_at(found->second).at("facts")));
  return facts_->second;
}

std::vector<FileEntry> LogReader::files_at(const Place& place, const std::string& variable) try {
  const Json json = parsed_at(place);
  if (!json.contains("files")) return {};
  if (const auto facts = json.find("facts"); facts != json.end())
    return with_values(files_from_facts(*facts), json["files"], variable);
  std::uint64_t n = 0;
  read_value(json.at("as"), n);
  return with_values(facts_of(n), json["files"], variable);
} catch (const Json::exception& error) {
  throw Error(DC_E_IO, path_ + ": the record at byte " + std::to_string(place.at) + " is damaged: " + error.what());
}

}  // namespace damaris::manifest
