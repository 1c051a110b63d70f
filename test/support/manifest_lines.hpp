// The records of a run's logs, for tests that look at their text.
// Used by: tests of whole runs, on any thread.
// Before it: a run. After it: the test's checks.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/json.hpp"
#include "manifest/manifest.hpp"

namespace damaris::test {

// The text of all logs of the run <folder>/<stem>, those of the first server of the first run first.
inline std::string logs_text(const std::string& basename) {
  const manifest::Manifest names(basename);
  std::string text;
  for (const manifest::LogName& log : manifest::find_logs(names.folder(), names.stem())) {
    std::ifstream file(names.folder() + "/" + log.of(names.stem()), std::ios::binary);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

// What the manifest says of a step, with its files; no object when nothing.
inline Json recorded_step(const std::string& basename, std::int64_t step) {
  manifest::Manifest manifest(basename);
  manifest.read_on();
  return manifest.steps().count(step) == 0 ? Json() : manifest::to_json(manifest.with_files(step));
}

}  // namespace damaris::test
