// The line of a step as it would be if no shard described its files.
// Used by: tests that look at a manifest's lines, on any thread.
// Before it: a line of the manifest. After it: the test's checks.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.hpp"
#include "manifest/entries.hpp"
#include "manifest/shard_reader.hpp"

namespace damaris::test {

// `record`: the path of the manifest. Other lines are returned as they are.
inline Json whole_line(const std::string& record, const Json& line) {
  if (!line.contains("described")) return line;
  manifest::ShardReader shards(std::filesystem::path(record).parent_path().string());
  return manifest::to_json(shards.complete(manifest::step_from_json(line)));
}

}  // namespace damaris::test
