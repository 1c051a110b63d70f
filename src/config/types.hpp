// Element types, built-in and compound.
// Used by: the builders of the model, one thread, at start-up.
// Before it: the name of a type. After it: its dc_type, or the types it may have meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

std::optional<dc_type> builtin_type(const std::string& name);
bool is_integer(dc_type type);

// The end of a message about an unknown type: "; did you mean 'x'?" (x may be a synonym or one of `more`), else a list of all
// types without synonyms.
std::string type_hint(const std::string& wrong, const std::vector<std::string>& more = {});
std::string integer_type_hint(const std::string& wrong);

}  // namespace damaris::config
