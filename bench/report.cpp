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
constexpr std::size_t kShort = 5;

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
  for (const Row& row : report.rows) std::printf("%s\n", row_text(row).c_str());
}

std::string row_text(const Row& row) {
  const auto [name, rest] = split_name(row.name);
  const std::string interval = format("[{}, {}]", short_text(row.ratio.low), short_text(row.ratio.high));
  std::string text =
      format("{:45} {:>6} {:>14} {:4.3g} {:4.3g} {}", name, short_text(row.ratio.median), interval, row.good, row.aim, mark(row));
  if (!rest.empty()) text += format("\n  {:.78}", rest);
  return text;
}

std::string short_text(double value) {
  if (std::fabs(value) >= 100) return format("{:.0f}", value);
  for (int digits = 3; digits > 0; --digits)
    if (std::string text = format("{:.{}g}", value, digits); text.size() <= kShort) return text;
  return format("{:.2f}", value);
}

std::string time_text(double ns) {
  if (!(std::fabs(ns) >= 1e3)) return format("{:.0f} ns", ns);
  if (std::fabs(ns) < 1e6) return format("{:.2f} us", ns / 1e3);
  return format("{:.2f} ms", ns / 1e6);
}

}  // namespace damaris::bench
