// Describes a configuration, for users (text in 80 columns) and for programs (JSON).
// Used by: damaris-check, one thread.
// Before it: the model, its sizes and warnings. After it: standard output.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "tools/check/sizes.hpp"

namespace damaris::check {

std::string text_report(const model::Model& model, const Sizes& sizes);
std::string json_report(const model::Model& model, const Sizes& sizes, const std::vector<std::string>& warnings);
std::string json_failure(const std::string& file, const std::string& errors);

}  // namespace damaris::check
