// What all fuzz targets share: how a property is asserted, and how an input is cut into numbers and texts.
// Used by: the fuzz targets, one thread.
// Before it: libFuzzer's bytes. After it: the code under test, in this process and without a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace damaris::fuzz {

// A property that must hold for every input: ends the process, so that libFuzzer keeps the input.
inline void require(bool holds, const char* property, const std::string& detail = "") {
  if (holds) return;
  std::fprintf(stderr, "PROPERTY BROKEN: %s%s%s\n", property, detail.empty() ? "" : ": ", detail.c_str());
  std::abort();
}

// Takes an input apart from its begin; past the end everything is zero or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  template <class T>
  T take() {
    T value = {};
    const std::string_view bytes = take_bytes(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // 0 .. `count` - 1.
  std::size_t below(std::size_t count) { return take<std::uint8_t>() % count; }
  std::string_view take_bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace damaris::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
