#include "core/base/clock.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace damaris {
namespace {

std::string text_of(std::time_t seconds) {
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

}  // namespace

std::string utc_now() { return text_of(std::time(nullptr)) + "Z"; }

std::string utc_now_ms() {
  using std::chrono::milliseconds;
  const auto since = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  std::array<char, 16> fraction = {};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);  // also before 1970
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>((since - seconds).count()));
  return text_of(static_cast<std::time_t>(seconds.count())) + fraction.data();
}

}  // namespace damaris
