// What a benchmark hands over: rows for other programs, tables of at most 80 columns for people.
// Used by: main, after a benchmark; the benchmarks fill it.
// Before it: samples. After it: the file of --json, standard output.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "statistics.hpp"

namespace damaris::bench {

// One line of the budgets. `ratio` is a pure number, or has the unit its name gives.
struct Row {
  std::string name;
  Estimate ratio;
  bool lower_is_better = true;
  double good = 0;
  double aim = 0;
  double cpu_ratio = 0;  // the same by CPU time; 0: not measured
};

struct Report {
  std::vector<Row> rows;
  Json details = Json::array();  // everything measured, for whoever wants more than the rows
};

// {"machine": ..., "rows": [...], "details": [...]}.
Json to_json(const Json& machine, const Report& report);
// Throws Error(DC_E_IO) when the file cannot be written.
void write_json(const std::string& path, const Json& json);
// The rows as a table with good, aim and a mark.
void print_rows(const Report& report);
// One of its rows; a second line has what is left of a long name.
std::string row_text(const Row& row);

// "0.856", "0.042", "1234": as many of three digits as 5 columns have room for, and from 100 on all before the point.
std::string short_text(double value);
// "12 ns", "3.45 us", "1.23 ms", in 9 columns.
std::string time_text(double ns);

}  // namespace damaris::bench
