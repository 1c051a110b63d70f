// Files as text, and a record as its reader sees it.
// Used by: tests of the commit record, one thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "plugins/hdf5/run/run_record.hpp"

namespace damaris::test {

inline std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::map<std::int64_t, hdf5::StepRecord> steps_in(const std::string& path) {
  hdf5::RunRecordReader reader(path);
  reader.read_on();
  return reader.steps();
}

}  // namespace damaris::test
