#include "read_progress.hpp"

namespace damaris::hdf5 {
namespace {

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void ReadProgress::begin(const dc_read_t& read, Instant now) {
  const std::tuple what{read.variable->id, read.step, read.source};
  const bool goes_on = what == what_ && now - last_ < interval_;
  last_ = now;
  if (goes_on) return;
  what_ = what;
  name_ = "'" + std::string(read.variable->path) + "' of step " + std::to_string(read.step) + " for client " +
          std::to_string(read.source);
  begun_ = told_ = now;
  bytes_ = 0;
}

void ReadProgress::took(std::uint64_t bytes, Instant now) {
  bytes_ += bytes;
  tell(mib(bytes_) + " so far", now);
}

void ReadProgress::checks(const std::string& file, std::uint64_t done, std::uint64_t bytes, Instant now) {
  tell(mib(bytes_) + " so far, checks " + mib(done) + " of " + mib(bytes) + " of " + file + " first", now);
}

void ReadProgress::tell(const std::string& how_far, Instant now) {
  last_ = now;
  if (!log_ || now - told_ < interval_) return;
  told_ = now;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begun_).count();
  log_("reads " + name_ + " since " + std::to_string(seconds) + " s: " + how_far);
}

}  // namespace damaris::hdf5
