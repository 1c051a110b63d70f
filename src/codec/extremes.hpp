// The smallest and largest value seen so far, before anything is known of infinite ones. Private to range.cpp and look.cpp.
// Used by: the server's dispatch thread and its workers.
// Before it: the lanes of a loop over values. After it: range.hpp.
#pragma once

#include <limits>
#include <type_traits>

#include "range.hpp"

namespace damaris::codec {

// With these nothing has been seen: no value is above the one or below the other.
template <class T>
constexpr T kAbove = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
template <class T>
constexpr T kBelow = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

template <class T>
struct Extremes {
  T low, high;

  bool is_empty() const noexcept { return low > high; }
  bool has_infinite() const noexcept {
    return std::is_floating_point_v<T> && !is_empty() && (low == kBelow<T> || high == kAbove<T>);
  }
  // Without infinite values.
  Range<T> range() const noexcept { return is_empty() ? Range<T>{} : Range<T>{low, high, true}; }
};

}  // namespace damaris::codec
