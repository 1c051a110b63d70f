// A log in a folder of its own, as a test writes, damages and reads it.
// Used by: the tests of logs, one thread.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "logs/reader.hpp"
#include "logs/writer.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace damaris::test {

class LogFolder {
 public:
  logs::LogSettings settings(logs::Existing existing = logs::Existing::automatic, std::uint64_t run = 1) const {
    logs::LogSettings s;
    s.basename = folder_.file("run");
    s.host = "host";
    s.name = "events";
    s.files = 2;
    s.block_bytes = 4096;
    s.run = run;
    s.existing = existing;
    return s;
  }
  std::string index() const { return folder_.file("run.host.s0.events.stream-index"); }
  std::string data(int file) const { return folder_.file("run.host.s0.events." + std::to_string(file) + ".stream"); }
  std::string run() const { return folder_.file("run"); }
  const TempFolder& folder() const { return folder_; }

  std::string bytes_of(std::int64_t stream) const {
    std::string all;
    logs::Reader(index()).read(stream, [&](std::string_view bytes) { all += bytes; });
    return all;
  }

 private:
  TempFolder folder_;
};

inline logs::Append append_of(std::int64_t stream, std::uint64_t offset, const std::string& bytes) {
  return {static_cast<std::uint32_t>(stream % 2), stream, {offset, bytes.size()}, reinterpret_cast<const std::byte*>(bytes.data())};
}

}  // namespace damaris::test
