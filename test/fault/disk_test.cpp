// A file system that refuses to store for a while, or for good: what is retried, what is given up, and which calls report it.
#include "disk_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

TEST_CASE("what the file system refuses for a while is stored when it takes it again, and the server goes on meanwhile") {
  const std::string fault = GENERATE("write ENOSPC", "write EDQUOT", "open EROFS", "open ENOENT", "open ESTALE", "truncate EIO",
                                     "write EIO", "fsync EIO", "rename EIO", "rename ENOSPC");
  INFO(fault);
  DiskRun run("retry='60s'");
  run.store(0);
  run.rule(fault);
  run.write(1);
  CHECK(run.waits_for(1, "in plugin 'hdf5', which retries step 1 ("));
  // What comes in meanwhile is taken.
  run.client.must("signal e 2");
  CHECK(wait_until([&] { return !run.run().lines("event e").empty(); }));
  run.write(2);
  run.rule("");
  run.client.must("flush 2 60000");
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  CHECK(run.logged(".i1.h5 is not stored: ").size() == 1);
  CHECK(run.logged("hdf5: step 1 is stored after ").size() == 1);
  CHECK(recorded(run.folder(), 1).value("retries", 0) > 0);
  CHECK(recorded(run.folder(), 1).at("complete") == true);
  CHECK_FALSE(recorded(run.folder(), 2).contains("retries"));
  CHECK(verified(run.folder()).at("damaged").empty());
  CHECK(verified(run.folder()).at("steps") == 3);
  CHECK(run.leftovers().empty());
}

TEST_CASE(
    "what is refused for longer than retry is given up: the client gets the error, the manifest records it, and the next one is "
    "stored") {
  DiskRun run("retry='2s'");
  run.store(0);
  run.rule("fsync EIO @.h5");
  const Answer lost = run.lose(1);
  CHECK(lost.code == DC_E_EARLIER_IO);
  CHECK_THAT(lost.sentence, Contains("cannot sync") && Contains("Input/output error; abandoned after ") &&
                                Contains(" tries within ") && Contains("; check that file system"));
  run.rule("");
  run.store(2);
  run.client.must("finalize");
  CHECK(run.ends() == 1);
  const Json record = recorded(run.folder(), 1);
  CHECK(record.at("complete") == false);
  CHECK(record.at("retries") > 0);
  CHECK_FALSE(record.contains("files"));
  CHECK_THAT(record.at("failures").at(0).get<std::string>(), Contains("abandoned after"));
  CHECK(verified(run.folder()).at("damaged").empty());
  CHECK(verified(run.folder()).at("not_recorded").empty());
  CHECK(run.leftovers().empty());
}

TEST_CASE("retry=0 gives up at the first refusal") {
  DiskRun run("retry='0'");
  run.rule("write ENOSPC 1 1");
  const Answer lost = run.lose(0);
  CHECK(lost.code == DC_E_EARLIER_IO);
  CHECK_THAT(lost.sentence, Contains("No space left on device; free space there"));
  run.store(1);
  run.client.must("finalize");
  CHECK(run.ends() == 1);
  CHECK_FALSE(recorded(run.folder(), 0).contains("retries"));
}

TEST_CASE("a failure that does not pass by itself is not tried again") {
  DiskRun run("retry='60s'");
  run.store(0);
  std::string name = recorded(run.folder(), 0).at("files").at(0).at("name");
  std::filesystem::create_directory(run.file("out/" + name.replace(name.find(".i0."), 4, ".i1.")));
  const Answer lost = run.lose(1);
  CHECK(lost.code == DC_E_EARLIER_IO);
  CHECK_THAT(lost.sentence, Contains("Is a directory"));
  run.client.must("finalize");
  CHECK(run.ends() == 1);
}

// The n-th file system call of that kind on the path, from 0, as a place in `calls`.
std::size_t place_of(const std::vector<std::string>& calls, const std::string& kind, std::size_t n) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].rfind(kind + " ", 0) == 0 && n-- == 0) return i;
  FAIL("there are too few calls of " + kind);
  return 0;
}

std::ptrdiff_t writes_between(const std::vector<std::string>& calls, std::size_t from, std::size_t to) {
  return std::count_if(calls.begin() + static_cast<std::ptrdiff_t>(from), calls.begin() + static_cast<std::ptrdiff_t>(to),
                       [](const std::string& call) { return call.rfind("write ", 0) == 0; });
}

TEST_CASE("after an fsync that fails a file is written anew as a whole, never only synced again") {
  DiskRun run("retry='60s'");
  run.rule("fsync EIO 1 1 @.i0.h5");
  run.store(0);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  const std::vector<std::string> calls = run.calls(".i0.h5.tmp");
  const std::size_t failed = place_of(calls, "fsync", 0), good = place_of(calls, "fsync", 1);
  const std::size_t made = place_of(calls, "open", 1);
  CHECK(failed < made);
  CHECK(made < good);
  CHECK(writes_between(calls, 0, failed) > 0);
  CHECK(writes_between(calls, made, good) == writes_between(calls, 0, failed));
  CHECK(recorded(run.folder(), 0).at("retries") == 1);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("a line of the manifest that cannot be made durable is taken back and written anew, once, and the step is durable then") {
  const std::string exists = GENERATE("overwrite", "append");
  DiskRun run("retry='60s' exists='" + exists + "'");
  const std::string rule =
      GENERATE("fsync EIO 1 1 @s0.jsonl", "write ENOSPC 1 1 @s0.jsonl", "fsync EIO 1 1 @s0.jsonl\ntruncate EIO 1 1 @s0.jsonl");
  INFO(rule);
  run.rule(rule);
  run.store(0);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  const std::string text = logs_text(run.file("out/run"));
  CHECK(text.find("\"step\":0") == text.rfind("\"step\":0"));
  CHECK(run.logged("step 0 cannot be recorded: ").size() == 1);
  CHECK(run.logged("is up to date after 1 tries").size() == 1);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("a log that refuses a record for longer than retry holds the step until it takes it") {
  DiskRun run("retry='200ms'");
  run.store(0);
  run.rule("fsync EIO @.jsonl");
  run.write(1);
  CHECK(run.client("flush 1 500").code == DC_E_TIMEOUT);
  run.rule("");
  run.store(2);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  CHECK(run.logged("step 1 cannot be recorded: ").size() == 1);
  for (const int step : {0, 1, 2}) CHECK(recorded(run.folder(), step).at("files").size() == 1);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("a folder whose sync fails loses the name it got, also where files are not replaced") {
  DiskRun run("retry='60s' exists='refuse'");
  run.rule("fsync EIO 2 2");  // of the file, of the folder
  run.store(0);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  CHECK(recorded(run.folder(), 0).at("retries") == 1);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("a disk that writes only half of what it is asked to is asked for the other half") {
  DiskRun run("retry='0'");
  run.rule("write short");
  for (const int step : {0, 1}) run.store(step);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  const Json found = verified(run.folder());
  CHECK(found.at("damaged").empty());
  CHECK(found.at("steps") == 2);
}

TEST_CASE("at the end what is refused is still tried for as long as retry says") {
  DiskRun run("retry='60s'");
  run.store(0);
  run.rule("write ENOSPC");
  run.write(1);
  run.client.ask("finalize");
  REQUIRE(wait_until([&] { return run.logged(".i1.h5 is not stored: ").size() == 1; }));
  run.rule("");
  CHECK(run.client.answer().code == DC_OK);
  CHECK(run.ends() == 0);
  CHECK(recorded(run.folder(), 1).at("complete") == true);
}

TEST_CASE("the server warns how many steps still fit, once, in the log and in the manifest") {
  DiskRun run;
  run.rule("room room:100000");  // for 13 steps; what is missing later counts as written by other servers
  run.store(0);
  const std::int64_t bytes = recorded(run.folder(), 0).at("stored_bytes").get<std::int64_t>();
  run.rule("room room:" + std::to_string(8 * bytes));
  for (const int step : {1, 2}) run.store(step);
  run.rule("room room:" + std::to_string(bytes));
  for (const int step : {3, 4}) run.store(step);
  run.rule("room room:1000000000");
  for (const int step : {5, 6}) run.store(step);
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  for (const int step : {0, 2, 4, 5, 6}) CHECK_FALSE(recorded(run.folder(), step).contains("warnings"));
  for (const int step : {1, 3}) {
    const Json warnings = recorded(run.folder(), step).value("warnings", Json::array());
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings.at(0).get<std::string>(), Contains("room for ") && Contains(" more steps"));
    CHECK(run.logged(warnings.at(0).get<std::string>()).size() == 1);
  }
  CHECK(run.logged("there is room again").size() == 1);
}

}  // namespace
}  // namespace damaris::test
