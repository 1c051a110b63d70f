// A process that is killed at its k-th call of the file system, for every k of a small run: what was reported as durable stays.
#include <damaris/damaris.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <set>

#include "core/base/clock.hpp"
#include "disk_run.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"

namespace damaris::test {
namespace {

// Where runs are made, in place: a forked process stores and is killed. All share a basename.
class Place {
 public:
  Place() { std::filesystem::create_directory(folder_.file("out")); }
  // Begins with what was stored in another one.
  explicit Place(const Place& other) {
    std::filesystem::copy(other.path() + "/out", folder_.file("out"), std::filesystem::copy_options::recursive);
  }
  std::string path() const { return folder_.path().string(); }

  struct Outcome {
    bool killed = false;
    std::set<int> durable;  // steps of which dc_flush has said so
  };
  // A run of the given steps under a rule of faulty_disk.c.
  Outcome run(const std::string& exists, const std::vector<int>& steps, const std::string& rule = "",
              const std::string& retry = "0") const {
    write_xml(exists, "retry='" + retry + "'");
    folder_.write("rules", rule);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(store(steps));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    REQUIRE((killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
    Outcome outcome;
    outcome.killed = killed;
    for (const std::string& step : lines_of(folder_.file("durable"))) outcome.durable.insert(std::stoi(step));
    if (!killed) REQUIRE(outcome.durable.size() == steps.size());
    return outcome;
  }
  void write_xml(const std::string& exists, const std::string& hdf5, const std::string& architecture = "") const {
    folder_.write("run.xml", "<simulation name='run'><architecture><dedicated cores='0'/>" + architecture +
                                 "</architecture><data><layout name='line' type='double' dimensions='16'/><variable name='x' "
                                 "layout='line'/></data><storage><hdf5 basename='out/run' " +
                                 hdf5 + " exists='" + exists + "'/></storage></simulation>");
  }
  // From now on.
  void rule(const std::string& text) const {
    folder_.write("rules.next", text);
    std::filesystem::rename(folder_.file("rules.next"), folder_.file("rules"));
  }
  // Of a process that stores on the faulty disk.
  void enter() const {
    ::setenv("DAMARIS_FAULT_UNDER", folder_.file("out").c_str(), 1);
    ::setenv("DAMARIS_FAULT_RULES", folder_.file("rules").c_str(), 1);
    if (::chdir(path().c_str()) != 0) ::_exit(2);
  }
  // Everything that is recorded is whole, and these steps are.
  void check(const std::set<int>& durable) const {
    if (durable.empty() && manifest::find_logs(folder_.file("out"), "run").empty()) return;
    const manifest::Verification found = hdf5::verify(folder_.file("out/run"), {});  // what damaris verify asks
    // A view may be missing that its line tells of: it shows what the files hold, and is made anew.
    for (const manifest::Finding& one : found.damaged)
      if (one.step >= 0) FAIL_CHECK("step " << one.step << " " << one.file << ": " << one.what);
    for (const int step : durable) {
      INFO("step " << step);
      const Json record = recorded(path(), step);
      REQUIRE(record.is_object());
      CHECK(record.at("complete") == true);
      CHECK(record.at("files").size() == 1);
    }
  }
  std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path() + "/out"))
      if (const std::string name = entry.path().filename(); name.find(".tmp") != std::string::npos) names.push_back(name);
    return names;
  }

 private:
  // The process that may be killed. Its exit status says what has failed, and its error output which call.
  int store(const std::vector<int>& steps) const {
    enter();
    const int durable = ::open(folder_.file("durable").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (durable < 0) return 2;
    const std::vector<double> data(16, 1.0);
    const auto failed = [](int code) {
      if (code != DC_OK) std::cerr << dc_last_error() << "\n";
      return code != DC_OK;
    };
    if (failed(dc_initialize("run.xml", 0))) return 1;
    for (const int step : steps) {
      if (failed(dc_write("x", step, data.data())) || failed(dc_end_iteration(step)) || failed(dc_flush(step, 60'000))) return 1;
      ::dprintf(durable, "%d\n", step);
    }
    return failed(dc_finalize()) ? 1 : 0;
  }

  TempFolder folder_;
};

// Once for all processes that are forked: most of the time of so small a run would be spent with it.
void load_plugin() {
  const std::string path = std::getenv("DAMARIS_PLUGIN_PATH");
  const std::string file = path.substr(path.rfind(':') + 1) + "/damaris_hdf5.so";
  static void* const plugin = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(plugin != nullptr);
}

std::set<int> joined(std::set<int> a, const std::set<int>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// A run of three steps that is killed at its k-th call, and one that goes on. `before`: with what an earlier run has stored.
Place::Outcome crash_at(int k, const Place& before) {
  const Place place(before);
  const bool replaces = !recorded(place.path(), 7).is_null();
  INFO("call " << k << (replaces ? " of a run that replaces another" : ""));
  const Place::Outcome crashed = place.run("overwrite", {0, 1, 2}, "all kill-before " + std::to_string(k));
  // Nothing of the earlier run is gone before there is something in its place.
  const bool stays = replaces && recorded(place.path(), 0).is_null();
  place.check(stays ? std::set<int>{7, 8} : crashed.durable);
  const auto next = place.run("append", {9});
  CHECK(next.durable.size() == 1);
  CHECK(place.leftovers().empty());
  place.check(joined(crashed.durable, next.durable));
  return crashed;
}

// The distance between the calls at which runs are killed.
int stride() {
  const char* const every = std::getenv("DAMARIS_TEST_EVERY");
  return every == nullptr ? 1 : std::max(1, std::atoi(every));
}

TEST_CASE("a run that is killed at any call of the file system keeps what it had reported as durable, and the next one goes on") {
  load_plugin();
  const Place nothing;
  int k = 1;
  while (crash_at(k, nothing).killed) k += stride();
  CHECK(k > 100);
  std::cout << "killed at every " << stride() << ". of " << k - 1 << " calls\n";
}

TEST_CASE("a run that replaces another one and is killed while it does leaves the one or the other") {
  load_plugin();
  const Place earlier;
  REQUIRE(earlier.run("overwrite", {7, 8}).durable.size() == 2);
  int k = 1;
  while (crash_at(k, earlier).durable.size() < 2) k += stride();
  CHECK(k > 50);
  std::cout << "killed at every " << stride() << ". of " << k - 1 << " calls\n";
}

// A process in place on the faulty disk, which may take some seconds to finalize. Returns its exit status.
int status_of_process(const Place& place, const std::function<int()>& process) {
  const pid_t child = ::fork();
  if (child == 0) {
    place.enter();
    ::_exit(process());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("without a dedicated core the end of a step does not wait for a disk that refuses it; later calls try again, in order") {
  const Place place;
  const int status = status_of_process(place, [&] {
    const std::vector<double> data(16, 1.0);
    place.write_xml("overwrite", "", "<server finalize-timeout='2s'/>");
    if (dc_initialize("run.xml", 0) != DC_OK) return 1;
    place.rule("write ENOSPC");
    const auto begun = Clock::now();
    for (const int step : {0, 1, 2})
      if (dc_write("x", step, data.data()) != DC_OK || dc_end_iteration(step) != DC_OK) return 2;
    if (seconds_since(begun) > 30) return 3;  // the disk would refuse for ever
    if (dc_flush(2, 100) != DC_E_TIMEOUT || seconds_since(begun) < 0.1) return 4;
    place.rule("");
    return dc_flush(2, 60'000) == DC_OK && dc_finalize() == DC_OK ? 0 : 5;
  });
  CHECK(status == 0);
  place.check({0, 1, 2});
}

TEST_CASE("without a dedicated core what cannot be stored by the end is lost, and said to be so by finalize and the manifest") {
  const Place place;
  const int status = status_of_process(place, [&] {
    const std::vector<double> data(16, 1.0);
    place.write_xml("overwrite", "", "<server finalize-timeout='4s'/>");
    if (dc_initialize("run.xml", 0) != DC_OK) return 1;
    place.rule("write ENOSPC @.i0.h5");
    if (dc_write("x", 0, data.data()) != DC_OK || dc_end_iteration(0) != DC_OK) return 2;
    const int code = dc_finalize();
    std::cerr << dc_last_error() << "\n";
    return code == DC_E_EARLIER_IO && std::strstr(dc_last_error(), "abandoned after ") != nullptr ? 0 : 3;
  });
  CHECK(status == 0);
  CHECK(recorded(place.path(), 0).at("failures").size() == 1);
}

TEST_CASE("without a dedicated core what is refused is tried again by the calls that follow") {
  const Place place;
  const auto outcome = place.run("overwrite", {0, 1}, "write ENOSPC 1 2 @.i0.h5", "60s");
  CHECK(outcome.durable == std::set<int>{0, 1});
  CHECK(recorded(place.path(), 0).at("retries") == 2);
  place.check(outcome.durable);
}

}  // namespace
}  // namespace damaris::test
