#include "run_record.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <fstream>

namespace damaris::hdf5 {

std::string RunRecordReader::folder() const {
  const std::size_t slash = path_.rfind('/');
  return slash == std::string::npos ? "." : path_.substr(0, slash);
}

std::vector<int> RunRecordReader::silent_servers(std::int64_t step) const {
  const std::size_t run = run_of_.at(step);
  const std::vector<int>& reported = steps_.at(step).servers;
  std::vector<int> silent;
  for (int server = 0; run > 0 && server < runs_[run - 1].servers; ++server)
    if (std::find(reported.begin(), reported.end(), server) == reported.end()) silent.push_back(server);
  return silent;
}

bool RunRecordReader::read_on() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return false;
  file.seekg(static_cast<std::streamoff>(offset_));
  const std::uint64_t before = offset_;
  // A line at a time: the whole of a long run may be larger than what its steps take in memory.
  for (std::string line; std::getline(file, line) && !file.eof(); ++line_) {
    take_line(line);
    offset_ += line.size() + 1;
  }
  return offset_ > before;
}

void RunRecordReader::take_line(const std::string& line) {
  const auto wrong = [&](const std::string& why) { return Error(DC_E_IO, path_ + ":" + std::to_string(line_ + 1) + ": " + why); };
  try {
    const Json json = Json::parse(line);
    if (json.contains("run")) {
      runs_.push_back(run_from_json(json));
      return;
    }
    take_step(step_from_json(json));
  } catch (const Json::exception& error) {
    throw wrong(std::string("this is no JSON: ") + error.what());
  } catch (const Error& error) {
    throw wrong(error.what());
  }
}

// What an earlier run stored from here on is of another future.
void RunRecordReader::take_step(StepRecord&& record) {
  for (auto later = run_of_.lower_bound(record.step); later != run_of_.end();)
    if (later->second == runs_.size()) {
      ++later;
    } else {
      steps_.erase(later->first);
      later = run_of_.erase(later);
    }
  run_of_[record.step] = runs_.size();
  const auto found = steps_.find(record.step);
  if (found == steps_.end())
    steps_.emplace(record.step, std::move(record));
  else
    merge(found->second, std::move(record));
}

}  // namespace damaris::hdf5
