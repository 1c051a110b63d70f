// The known name nearest to a misspelt one, for error messages ("did you mean ...?").
// Used by: the configuration, look-ups by name, damaris-check; off the hot path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace damaris {

// Returns the candidate with the smallest edit distance to `word`, ignoring case; "" if more than a third of the letters differ from each.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'x'?", or "; known: a, b, c" (at most eight names) if nothing is near, or "" without candidates.
std::string name_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace damaris
