// Sums over the operations of a plan, by kind, and how the reports write numbers.
// Used by: damaris-replay, one thread.
// Before it: a plan and its times. After it: a table, JSON.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.hpp"
#include "replay/evaluate.hpp"

namespace damaris::replay {

struct KindSum {
  std::uint64_t operations = 0, bytes = 0, ns = 0, wait_ns = 0;
};
using KindSums = std::array<KindSum, kLetters.size()>;  // by kind

// What people call a kind: "write", "one to all".
const char* word_of(Kind kind);
KindSums sums_of(const Plan& plan, const Times& times, const std::vector<std::uint64_t>* io_ns = nullptr);

inline double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }
std::string seconds_text(double value);             // "1.234", "0.000123"
std::string percent_text(double value, double of);  // how far it is off: "+1.2 %", "" if there is nothing to compare with
// The value below which `share` of the values lie; 0 without values. Reorders them.
std::uint64_t quantile(std::vector<std::uint64_t>& values, double share);

// Throws tools::WrongUsage if the folder of a file to write is not there; "" is no file.
void check_folder_of(const std::string& path);
// Writes JSON to a file, "-" is standard output. Throws Error(DC_E_IO).
void write_json(const std::string& path, const Json& json);

}  // namespace damaris::replay
