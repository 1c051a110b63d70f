#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kNameColumns = 45;

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

Json row_json(const Row& row) {
  Json json = {{"name", row.name},
               {"ratio", rounded(row.ratio.median)},
               {"better", row.lower_is_better ? "lower" : "higher"},
               {"good", row.good},
               {"aim", row.aim},
               {"interval", {rounded(row.ratio.low), rounded(row.ratio.high)}}};
  if (row.cpu_ratio != 0) json["cpu_ratio"] = rounded(row.cpu_ratio);
  return json;
}

bool reaches(const Row& row, double wanted) {
  return row.lower_is_better ? row.ratio.median <= wanted : row.ratio.median >= wanted;
}

const char* mark(const Row& row) {
  if (reaches(row, row.aim)) return "*";
  return reaches(row, row.good) ? "+" : "";
}

// The first line of a name in its column, and what is left for the lines below.
std::pair<std::string, std::string> split_name(const std::string& name) {
  if (name.size() <= kNameColumns) return {name, ""};
  const std::size_t space = name.rfind(' ', kNameColumns);
  return {name.substr(0, std::min(space, kNameColumns)), name.substr(space == std::string::npos ? kNameColumns : space + 1)};
}

}  // namespace

Json to_json(const Json& machine, const Report& report) {
  Json json = {{"machine", machine}, {"rows", Json::array()}, {"details", report.details}};
  for (const Row& row : report.rows) json["rows"].push_back(row_json(row));
  return json;
}

void write_json(const std::string& path, const Json& json) {
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw system_error(DC_E_IO, format("cannot write {}", path), errno, "give --json a file in a folder that exists");
}

void print_rows(const Report& report) {
  std::printf("%-45s %6s %14s %4s %4s\n", "(+ good is reached, * the aim)", "median", "95 % interval", "good", "aim");
  for (const Row& row : report.rows) {
    const auto [name, rest] = split_name(row.name);
    std::printf("%-45s %6.3g %14s %4.3g %4.3g %s\n", name.c_str(), row.ratio.median,
                format("[{:.3g}, {:.3g}]", row.ratio.low, row.ratio.high).c_str(), row.good, row.aim, mark(row));
    if (!rest.empty()) std::printf("  %.78s\n", rest.c_str());
  }
}

std::string time_text(double ns) {
  if (!(std::fabs(ns) >= 1e3)) return format("{:.0f} ns", ns);
  if (std::fabs(ns) < 1e6) return format("{:.2f} us", ns / 1e3);
  return format("{:.2f} ms", ns / 1e6);
}

}  // namespace damaris::bench
