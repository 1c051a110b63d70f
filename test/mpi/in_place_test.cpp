// No dedicated core, under MPI: every process is its own node group; with global events the end of a step is collective.
#include "job.hpp"

namespace damaris::test {
namespace {

std::string global(const std::string& name) {
  return "<event name='" + name + "' action='record' using='damaris_test_recorder.so' scope='global'/>";
}
std::string text() {
  return xml(0, kRecorder + "<actions>" + global("a") + global("b") + "</actions>", "<buffer size='1MiB'/><global timeout='1h'/>");
}

TEST_CASE("rule 5: in place with global events, an end of step returns when all have ended it and its events have run") {
  Job job(3);
  if (job.member()) {
    REQUIRE(job.start(text()).code == DC_OK);
    const int me = job.rank();
    for (int step = 0; step < 20; ++step) {
      CHECK(dc_signal("a", step) == DC_OK);
      job.write("entered." + std::to_string(step) + "." + std::to_string(me), "");
      CHECK(dc_end_iteration(step) == DC_OK);
      for (int other = 0; other < 3; ++other)
        CHECK(std::filesystem::exists(job.file("entered." + std::to_string(step) + "." + std::to_string(other))));
      CHECK(job.lines(me, "scope global").size() == static_cast<std::size_t>(step + 1));
    }
    CHECK(dc_finalize() == DC_OK);
  }
  job.together();
  for (int server = 1; server < 3; ++server) CHECK(job.lines(server, "scope global") == job.lines(0, "scope global"));
}

// What stands where the log's file would be made; its index is there from the start on.
std::string data_of_log(const Job& job) {
  const std::string start = ".s" + std::to_string(job.rank()) + ".events.";
  for (const auto& entry : std::filesystem::directory_iterator(job.file("")))
    if (const std::string path = entry.path().string(); path.find(start + "stream-index") != std::string::npos)
      return path.substr(0, path.find(start)) + start + "0.stream";
  return "";
}

TEST_CASE("rule 5: in place, a log that the file system refuses on one process does not let it leave the end of a step early") {
  Job job(2);
  if (job.member()) {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(job.file(""));
    const std::string log = "<storage><stream-log name='events'/></storage>";
    REQUIRE(job.start(xml(0, kRecorder + "<actions>" + global("a") + "</actions>" + log, "<buffer size='1MiB'/>")).code == DC_OK);
    const int me = job.rank(), other = 1 - me;
    const std::string data = data_of_log(job);
    if (me == 1) std::filesystem::create_directory(data);  // a file that cannot be opened
    CHECK(dc_append("events", "bytes", 5, nullptr) == DC_OK);
    CHECK(dc_log_commit("events", 10'000) == (me == 1 ? DC_E_IO : DC_OK));
    for (int step = 0; step < 20; ++step) {
      if (me == 0) ::usleep(2000);
      CHECK(dc_signal("a", step) == DC_OK);
      job.write("entered." + std::to_string(step) + "." + std::to_string(me), "");
      CHECK(dc_end_iteration(step) == DC_OK);
      CHECK(std::filesystem::exists(job.file("entered." + std::to_string(step) + "." + std::to_string(other))));
      CHECK(job.lines(me, "scope global").size() == static_cast<std::size_t>(step + 1));
    }
    if (me == 1) std::filesystem::remove(data);
    CHECK(dc_finalize() == DC_OK);
    CHECK(std::filesystem::file_size(data) == 5);
    std::filesystem::current_path(before);
  }
  job.together();
}

TEST_CASE("in place a process that waits in vain for the end of the others says so, within its time-out") {
  Job job(2);
  if (job.member()) {
    const std::string waits = "<buffer size='1MiB'/><server finalize-timeout='2s'/>";
    REQUIRE(job.start(xml(0, kRecorder + "<actions>" + global("a") + "</actions>", waits)).code == DC_OK);
    if (job.rank() == 1) wait_for_all(job.world());  // the other one is over by then
    CHECK(dc_finalize() == DC_E_TIMEOUT);
    CHECK_THAT(dc_last_error(), Catch::StartsWith("the other processes did not finish within 2000 ms"));
    if (job.rank() == 0) wait_for_all(job.world());
  }
  job.together();
}

TEST_CASE("rule 5: in place a signal waits for no other process, so that processes may send theirs in different orders") {
  Job job(2);
  if (job.member()) {
    REQUIRE(job.start(text()).code == DC_OK);
    const bool first = job.rank() == 0;
    CHECK(dc_signal(first ? "a" : "b", 0) == DC_OK);
    CHECK(dc_signal(first ? "b" : "a", 0) == DC_OK);
    CHECK(dc_end_iteration(0) == DC_OK);
    CHECK(dc_finalize() == DC_OK);
  }
  job.together();
  REQUIRE(job.lines(0, "scope global").size() == 2);
  CHECK(job.lines(1, "scope global") == job.lines(0, "scope global"));
}

TEST_CASE("rule 3: in place an incomplete global instance is cancelled, and the end of its step reports it") {
  Job job(3);
  if (job.member()) {
    REQUIRE(job.start(text()).code == DC_OK);
    const bool sends = job.rank() != 1;
    if (sends) CHECK(dc_signal("a", 0) == DC_OK);
    const int code = dc_end_iteration(0);
    CHECK(code == (sends ? DC_E_EARLIER_IO : DC_OK));
    if (sends) CHECK_THAT(dc_last_error(), Catch::Contains("event 'a' (instance 0) of step 0 was discarded: another server"));
    CHECK(dc_end_iteration(1) == DC_OK);
    CHECK(dc_finalize() == DC_OK);
  }
  job.together();
  for (int server = 0; server < 3; ++server) CHECK(job.lines(server, "scope global").empty());
}

TEST_CASE("rule 5: in place without global events an end of step waits for no other process") {
  Job job(2);
  if (job.member()) {
    const Started started = job.start(xml(0));
    REQUIRE(started.code == DC_OK);
    if (job.rank() == 0) {
      CHECK(dc_end_iteration(0) == DC_OK);
      CHECK(dc_finalize() == DC_OK);
      MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, job.world());
    } else {
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, job.world(), MPI_STATUS_IGNORE);
      CHECK(dc_end_iteration(0) == DC_OK);
      CHECK(dc_finalize() == DC_OK);
    }
  }
  job.together();
}

}  // namespace
}  // namespace damaris::test
