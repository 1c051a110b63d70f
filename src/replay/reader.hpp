// Reads a plan's text (docs/plan-format.md).
// Used by: the verb, Python, tests; one thread.
// Before it: damaris plan, or a person's editor. After it: a Plan whose numbers, names and partners are right.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/plan.hpp"

namespace damaris::replay {

// `name` is what errors call the plan. Throws Error(DC_E_CONFIG): "NAME:LINE: cause; remedy", about the first line that is wrong.
Plan read_plan(std::string_view text, const std::string& name);
// Throws also Error(DC_E_CONFIG) for a file that cannot be read.
Plan read_plan_file(const std::string& path);

// What a reader of lines and links.cpp share.
struct Declared {  // a `collective` line
  std::uint32_t number = 0, line = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> processes;  // numbers, from and to
};
[[noreturn]] void fail(const Plan& plan, std::uint32_t line, const std::string& sentence);
// Replaces the numbers of messages and collectives by indices and finds their ends and members. Throws Error(DC_E_CONFIG).
void link_messages(Plan& plan);
void link_collectives(Plan& plan, const std::vector<Declared>& declared);
// Finds the files that were open before, and what no program can have done. Throws Error(DC_E_CONFIG).
void check_files(Plan& plan);

}  // namespace damaris::replay
