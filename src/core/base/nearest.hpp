// The known name nearest to a misspelt one, for error messages ("did you mean ...?").
// Used by: the configuration, look-ups by name, damaris-check; off the hot path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace damaris {

// Returns the candidate with the smallest edit distance to `word` (case ignored), or "" when none is near (more than a third of the
// letters differ).
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'x'?" or, when nothing is near, "; known: a, b, c" (at most eight names), or "" without candidates.
std::string name_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace damaris
