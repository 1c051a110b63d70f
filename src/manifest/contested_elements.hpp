// The elements of a step that files of several servers hold with other values: no server sees the files of the others.
// Used by: `damaris verify`.
// Before it: the step with all its files. After it: a partial step.
#pragma once

#include <string>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

// A sentence for each pair of datasets that share more than a face. Equal ones, with the same checksum, are no loss.
std::vector<std::string> contested_elements(const StepEntry& step);

}  // namespace damaris::manifest
