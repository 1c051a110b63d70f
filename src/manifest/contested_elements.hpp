// The elements of a step that files of several servers hold: no server sees the files of the others.
// Used by: `damaris verify`.
// Before it: the step with all its files. After it: a comparison of their values, and a partial step if they differ.
#pragma once

#include <string>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

struct ContestedElements {
  DatasetInFile shown, hidden;  // readers get those of `shown`
  Box elements;
  std::string sentence() const;
};

// Each pair of datasets that share more than a face, but those with the same box and the same checksum. Their values may be equal all the
// same: is_certain() says that they differ.
std::vector<ContestedElements> contested_elements(const StepEntry& step);
bool is_certain(const ContestedElements& one);

}  // namespace damaris::manifest
