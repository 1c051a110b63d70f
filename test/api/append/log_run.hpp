// A run with a log: its streams, read back record by record.
// Used by: the tests of logs, one thread.
// Before it: clients that have appended. After it: how many whole records each stream has, in order.
#pragma once

#include "../detached/recover.hpp"
#include "logs/reader.hpp"
#include "records.h"

namespace damaris::test {

class LogRun : public Run {
 public:
  static std::string log(const std::string& attributes) {
    return "<storage><stream-log name='events' " + attributes + "/></storage>";
  }
  explicit LogRun(const std::string& architecture, const std::string& attributes = "files='2'")
      : Run(architecture, log(attributes)), here_(folder().path().string()) {}

  std::string base() const { return folder().file("run"); }
  logs::Reader reader() const {
    std::vector<logs::Reader> found = logs::Reader::find(base());
    REQUIRE(found.size() == 1);
    return std::move(found.front());
  }
  std::string bytes_of(std::int64_t stream) const {
    const logs::Reader from = reader();
    std::string all;
    if (from.streams().count(stream) != 0) from.read(stream, [&](std::string_view bytes) { all += bytes; });
    return all;
  }
  // The number of records of a stream; fails unless it consists of whole ones, from 0 on.
  std::uint32_t records_of(std::uint32_t stream) const {
    const std::string all = bytes_of(stream);
    const auto* bytes = reinterpret_cast<const unsigned char*>(all.data());
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < all.size(); ++number) {
      const std::uint32_t size = check_record(bytes + at, all.size() - at, stream, number);
      INFO("stream " << stream << " record " << number);
      REQUIRE(size > 0);
      at += size;
    }
    return number;
  }

 private:
  const InFolder here_;
};

}  // namespace damaris::test
