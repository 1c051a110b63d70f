// Which servers take part in a run, by its manifest.
#include "manifest/members.hpp"
#include "core/base/json.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "manifest/sealed_line.hpp"
#include "manifest/server_entry.hpp"
#include "support/temp_folder.hpp"

namespace damaris::manifest {
namespace {

void add(const std::string& path, const Json& line) { std::ofstream(path, std::ios::app) << sealed(text_of(line), "") << "\n"; }

RunEntry run_of(const std::string& host, int server) {
  RunEntry run;
  run.run = run.simulation = "storm";
  run.apart = true;
  run.host = host;
  run.first_server = server;
  return run;
}

Json says(ServerEntry::What what, const std::string& host, int server) { return to_json(ServerEntry{what, server, host, {}}); }

TEST_CASE("members are those that joined and have not ended, of the last run alone") {
  const test::TempFolder folder;
  const std::string path = folder.file("storm.jsonl");
  Members members(path);
  CHECK(members.count() == 1);  // whoever asks
  add(path, to_json(run_of("node7", 4)));
  add(path, says(ServerEntry::What::joined, "node8", 0));
  CHECK(members.count() == 2);
  add(path, says(ServerEntry::What::joined, "node9", 0));
  CHECK(members.count() == 3);
  add(path, says(ServerEntry::What::ended, "node7", 4));
  CHECK(members.count() == 2);
  CHECK(members.has("node7", 4));
  CHECK_FALSE(members.has("node7", 0));
  std::ofstream(path, std::ios::app) << "{\"joined\":\n";
  CHECK(members.count() == 2);
  add(path, to_json(run_of("node8", 0)));
  CHECK(members.count() == 1);
  CHECK_FALSE(members.has("node7", 4));
}

TEST_CASE("members of a manifest that another file has replaced are those of that file") {
  const test::TempFolder folder;
  const std::string path = folder.file("storm.jsonl"), other = folder.file("other.jsonl");
  Members members(path);
  add(path, to_json(run_of("node7", 4)));
  add(path, says(ServerEntry::What::joined, "node8", 0));
  CHECK(members.count() == 2);
  add(other, to_json(run_of("node1", 0)));
  std::filesystem::rename(other, path);
  CHECK(members.count() == 1);
  CHECK(members.has("node1", 0));
}

}  // namespace
}  // namespace damaris::manifest
