// Files as text, and a manifest as its reader sees it.
// Used by: tests of the manifest, one thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "manifest/manifest.hpp"

namespace damaris::test {

inline std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The steps of a run with their files.
inline std::map<std::int64_t, manifest::StepEntry> steps_in(const std::string& basename) {
  manifest::Manifest manifest(basename);
  manifest.read_on();
  std::map<std::int64_t, manifest::StepEntry> steps;
  for (const auto& [number, step] : manifest.steps()) steps.emplace(number, manifest.with_files(number));
  return steps;
}

}  // namespace damaris::test
