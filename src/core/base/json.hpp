// JSON values: with json_fwd.hpp the one place that includes nlohmann-json.
// Used by: the compiled model in the region, manifests, messages between servers, tools and benchmarks; never on the hot path.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/json_fwd.hpp"

namespace damaris {

// Serializes to one line, or with `indent`. Bytes that are not valid UTF-8, as in some paths, become U+FFFD.
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// True if the value is an integer in the range of T. The library stores only negative integers as signed.
template <class T>
bool holds_whole(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (!json.is_number_integer()) return false;
  const auto number = json.get<std::int64_t>();
  if constexpr (std::is_unsigned_v<T>) return number >= 0 && static_cast<std::uint64_t>(number) <= std::numeric_limits<T>::max();
  return number >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
         (number < 0 || static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
}

// Converts a value from untrusted text. Rejects a number that does not fit, which the library's own conversion would truncate.
// Throws Json::exception.
template <class T>
void read_value(const Json& json, T& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    if (!holds_whole<T>(json)) throw Json::out_of_range::create(406, "the number " + text_of(json) + " does not fit", &json);
  json.get_to(value);
}

template <class T>
void read_value(const Json& json, std::vector<T>& list) {
  list.clear();
  for (const Json& item : json.get_ref<const Json::array_t&>()) read_value(item, list.emplace_back());
}

}  // namespace damaris
