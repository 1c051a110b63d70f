#include "utc.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace damaris::hdf5 {
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
  const auto since = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::array<char, 16> fraction = {};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(since % 1000));
  return text_of(static_cast<std::time_t>(since / 1000)) + fraction.data();
}

}  // namespace damaris::hdf5
