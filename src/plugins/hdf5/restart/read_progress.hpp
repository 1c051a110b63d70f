// Tells in the server's log what a client reads from an earlier run, and how far it is, when that takes long.
// Used by: restart_reader.hpp, on the server's work thread.
// Before it: a request, or one for each part of an array. After it: a line every ten seconds.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "core/base/clock.hpp"

namespace damaris::hdf5 {

class ReadProgress {
 public:
  using Log = std::function<void(const std::string&)>;
  explicit ReadProgress(Log log = {}, Clock::duration interval = std::chrono::seconds(10))
      : log_(std::move(log)), interval_(interval) {}

  // A request: it goes on with the one before if that was of the same client for the same variable and step.
  void begin(const dc_read_t& read, Instant now);
  // So many bytes of the request, or of a file that is checked before it is read, are done.
  void took(std::uint64_t bytes, Instant now);
  void checks(const std::string& file, std::uint64_t done, std::uint64_t bytes, Instant now);

 private:
  void tell(const std::string& how_far, Instant now);

  Log log_;
  Clock::duration interval_;
  std::tuple<std::uint32_t, std::int64_t, std::int32_t> what_ = {0, -1, -1};  // variable, step, client
  std::string name_;
  Instant begun_ = {}, told_ = {}, last_ = {};
  std::uint64_t bytes_ = 0;
};

}  // namespace damaris::hdf5
