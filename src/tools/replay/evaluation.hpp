// `damaris replay PLAN --evaluate`: what a plan takes in virtual time, and who waits.
// Used by: damaris-replay, one thread.
// Before it: a plan and its times. After it: standard output, JSON.
#pragma once

#include <string>

#include "core/base/json_fwd.hpp"
#include "replay/evaluate.hpp"

namespace damaris::replay {

std::string evaluation_text(const Plan& plan, const Times& times);
Json evaluation_json(const Plan& plan, const Times& times);

}  // namespace damaris::replay
