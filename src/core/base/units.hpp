// Parses and formats human-readable sizes and durations: "64MiB", "10s".
// Used by: configuration, messages, tools and benchmarks, on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace damaris {

// Parses "4096", "64KiB", "1.5GiB", "10MB" (powers of 1000). Returns bytes, or nothing if `text` is not a size or exceeds 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Parses "250ms", "10s", "2min", "1h"; a bare number is seconds. Returns milliseconds, or nothing.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);

// Returns "17 B", "2.5 MiB", ...
std::string size_text(std::uint64_t bytes);

}  // namespace damaris
