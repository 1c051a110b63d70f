// JSON values: with json_fwd.hpp the one place that includes nlohmann-json.
// Used by: the compiled model in the region, manifests, messages between servers, tools and benchmarks; never on the hot path.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/json_fwd.hpp"
#include "core/base/text.hpp"

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

// With what follows, strings may contain bytes that are not UTF-8, as paths may: these survive the text, unlike in text_of. For the compiled
// model in the region and messages between the servers of one file, not for what others read (manifests, reports).

// Replaces each byte that is not UTF-8, and each zero byte, by a zero byte and two hexadecimal digits. No path contains a zero byte, so the
// text is longer only where it has to be; that zero bytes are replaced as well makes it unambiguous for any string.
inline std::string with_escaped_bytes(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string escaped;
  while (true) {
    const std::size_t length = std::min(find_not_utf8(text), text.find('\0'));
    escaped += text.substr(0, length);
    if (length >= text.size()) return escaped;
    const auto byte = static_cast<unsigned char>(text[length]);
    escaped += {'\0', kDigits[byte >> 4], kDigits[byte & 15]};
    text.remove_prefix(length + 1);
  }
}

// The reverse. A zero byte without two such digits stays.
inline std::string with_restored_bytes(std::string_view text) {
  const auto digit = [text](std::size_t i) {
    const char c = i < text.size() ? text[i] : ' ';
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string restored;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\0' && digit(i + 1) >= 0 && digit(i + 2) >= 0;
    restored += is_escape ? static_cast<char>(digit(i + 1) * 16 + digit(i + 2)) : text[i];
    if (is_escape) i += 2;
  }
  return restored;
}

// Of a string itself, not of those in a list or an object: for a callback of Json::parse, which gets each of them.
inline void restore_bytes(Json& value) {
  if (!value.is_string()) return;
  auto& text = value.get_ref<std::string&>();
  if (text.find('\0') != std::string::npos) text = with_restored_bytes(text);
}

// Whether there are bytes to be escaped in it.
inline bool must_be_escaped(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos || find_not_utf8(text) != std::string_view::npos;
}
// The same of all strings in `json`; keys do not count.
inline bool must_be_escaped_within(const Json& json) {
  if (json.is_string()) return must_be_escaped(json.get_ref<const std::string&>());
  return json.is_structured() && std::any_of(json.begin(), json.end(), [](const Json& one) { return must_be_escaped_within(one); });
}

inline void escape_bytes(Json& json) {
  if (json.is_string()) json = with_escaped_bytes(json.get_ref<const std::string&>());
  if (json.is_structured()) std::for_each(json.begin(), json.end(), escape_bytes);
}

// As text_of, on one line, with the bytes of all strings escaped where they have to be; not those of keys.
inline std::string text_with_bytes_of(const Json& json) {
  if (!must_be_escaped_within(json)) return text_of(json);  // no copy: a model may be large
  Json escaped = json;
  escape_bytes(escaped);
  return text_of(escaped);
}

// The reverse. Throws Json::exception.
inline Json parse_with_bytes(std::string_view text) {
  return Json::parse(text, [](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::value) restore_bytes(parsed);
    return true;
  });
}

}  // namespace damaris
