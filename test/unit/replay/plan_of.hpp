// A plan of a test's lines.
// Used by: tests, one thread.
// Before it: the lines behind the first one. After it: the plan.
#pragma once

#include <string>

#include "replay/reader.hpp"

namespace damaris::test {

inline replay::Plan plan_of(const std::string& lines) { return replay::read_plan("damaris plan 1\n" + lines, "plan"); }

}  // namespace damaris::test
