// Names of element types in the XML, built-in and compound.
// Used by: the builders of parameters, types and layouts; one thread, at start-up.
// Before it: an attribute type="...". After it: dc_type and an index into Model::compounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/build.hpp"

namespace damaris::config {

std::optional<dc_type> builtin_type(const std::string& name);
bool is_integer(dc_type type);

// Which types there are, for a message: "; did you mean 'x'?" (synonyms and `more` count too), else the list of all, each once.
std::string type_hint(const std::string& wrong, const std::vector<std::string>& more = {});
std::string integer_type_hint(const std::string& wrong);

}  // namespace damaris::config
