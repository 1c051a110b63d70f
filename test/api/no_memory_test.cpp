// Calls of a client whose allocations fail: each returns what it does with memory, or ends the session with DC_E_MEMORY.
#include <damaris/damaris.h>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/failing_new.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace damaris::test;
using Lines = std::vector<std::string>;
using Calls = std::vector<std::function<int()>>;

const double kLine[4] = {1, 2, 3, 4};

std::string xml(const std::string& architecture) {
  return "<simulation name='short'><architecture>" + architecture +
         "</architecture><data><layout name='line' type='double' dimensions='4'/><variable name='x' layout='line'/></data><plugin "
         "name='recorder' using='damaris_test_recorder.so'/><event name='seen' action='record' using='damaris_test_recorder.so' "
         "scope='core'/></simulation>";
}

Lines lines_of(const TempFolder& folder) {
  std::ifstream log(folder.file("log.s0"));
  Lines found;
  for (std::string line; std::getline(log, line);) found.push_back(line);
  return found;
}

Calls calls_of_run() {
  Calls calls;
  for (const int step : {0, 1})
    calls.insert(calls.end(), {[=] { return dc_write_block("x", step, 0, kLine); },
                               [=] { return dc_write_typed("x", step, 1, DC_FLOAT64, kLine, 0, nullptr, nullptr); },
                               [=] {
                                 void* data = nullptr;
                                 const int code = dc_alloc("x", step, 2, &data);
                                 if (code != DC_OK) return code;
                                 std::copy_n(kLine, 4, static_cast<double*>(data));
                                 return dc_commit("x", step, 2);
                               },
                               [=] { return dc_set_time(step, step); }, [=] { return dc_signal("seen", step); },
                               [=] { return dc_end_iteration(step); }, [=] { return dc_flush(step, 60'000); }});
  calls.emplace_back(dc_finalize);
  return calls;
}

struct Result {
  bool was_short, as_promised;
  Lines lines;
};

// A run in place, in a process of its own. Call number `number` finds no memory at its allocation after `after` others.
Result run_short_at(std::size_t number, long after) {
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const std::string config = folder.write("short.xml", xml("<dedicated cores='0'/>"));
  const pid_t child = ::fork();
  if (child == 0) {
    bool was_short = false, is_over = false, as_promised = dc_initialize(config.c_str(), 0) == DC_OK;
    const Calls calls = calls_of_run();
    for (std::size_t next = 0; next < calls.size(); ++next) {
      const FailsAfter fails(next == number ? after : -1);
      const int code = calls[next]();
      was_short |= any_failed();
      as_promised &= is_over ? code == DC_E_MEMORY : code == DC_OK || (next == number && code == DC_E_MEMORY);
      is_over |= code == DC_E_MEMORY;
    }
    ::_exit((was_short ? 1 : 0) + (as_promised ? 2 : 0));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  return {(WEXITSTATUS(status) & 1) != 0, (WEXITSTATUS(status) & 2) != 0, lines_of(folder)};
}

}  // namespace

TEST_CASE("whichever allocation of a call in place fails, it returns as ever or ends the session, and nothing wrong is stored",
          "[unpromised]") {
  const std::size_t calls = calls_of_run().size();
  const Lines whole = run_short_at(calls, 0).lines;
  REQUIRE(whole.size() == 5);
  for (std::size_t number = 0; number < calls; ++number) {
    Result result = {true, true, {}};
    for (long after = 0; result.was_short; ++after) {
      INFO("call " << number << ", the allocation after " << after << " others");
      result = run_short_at(number, after);
      CHECK(result.as_promised);
      CHECK((result.lines.size() <= whole.size() && std::equal(result.lines.begin(), result.lines.end(), whole.begin())));
    }
  }
}

TEST_CASE("the other clients of a node do not wait for one that has no memory, and the server leaves while its process lives") {
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  ::setenv("DAMARIS_JOB", folder.path().filename().c_str(), 1);
  const std::string config = folder.write("short.xml", xml("<clients count='2'/><server start='auto'/>"));
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    bool is_right = dc_initialize(config.c_str(), 0) == DC_OK && dc_write("x", 0, kLine) == DC_OK && dc_end_iteration(0) == DC_OK &&
                    dc_write("x", 1, kLine) == DC_OK;
    {
      const FailsAfter fails(0);
      is_right &= dc_write_block("x", 1, 1, kLine) == DC_E_MEMORY;
    }
    dc_status_t seen;
    for (const int code : {dc_write("x", 1, kLine), dc_end_iteration(1), dc_flush(0, 0), dc_status(&seen), dc_finalize(),
                           dc_initialize(config.c_str(), 0)})
      is_right &= code == DC_E_MEMORY;
    char end = 0;
    is_right &= ::read(ends[0], &end, 1) == 0;
    ::_exit(is_right ? 0 : 1);
  }
  ::close(ends[0]);
  REQUIRE(dc_initialize(config.c_str(), 1) == DC_OK);
  for (int step = 0; step < 2; ++step) {
    CHECK(dc_write("x", step, kLine) == DC_OK);
    CHECK_FALSE(dc_end_iteration(step) == DC_E_SERVER_LOST);
    CHECK_FALSE(dc_flush(step, 60'000) == DC_E_TIMEOUT);
  }
  CHECK_FALSE(dc_finalize() == DC_E_TIMEOUT);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto has_ended = [&] { return !lines_of(folder).empty() && lines_of(folder).back().rfind("finalize", 0) == 0; };
  while (!has_ended() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(lines_of(folder) == Lines{"step 0 complete 1 time -1 datasets 2 x:0.0=32:10 x:1.0=32:10",
                                  "step 1 complete 1 time -1 datasets 2 x:0.0=32:10 x:1.0=32:10 missing:0",
                                  "finalize clients 0 1"});
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
