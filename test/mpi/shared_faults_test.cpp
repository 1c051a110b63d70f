// Faults while several servers write a file: all report the same, none waits for ever, the earlier files are whole, the next step works.
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "shared_run.hpp"

namespace damaris::test {
namespace {

// A small file system over the run's folder, for all ranks. Collective.
class SmallDisk {
 public:
  explicit SmallDisk(const SharedRun& run) : folder_(run.out) {
    int mounted = 0;
    if (rank_in(MPI_COMM_WORLD) == 0) mounted = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") == 0 ? 1 : 0;
    MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
    mounted_ = mounted != 0;
    if (!mounted_) std::cout << "SKIP of a case: this process may not mount a tmpfs\n";
  }
  ~SmallDisk() {
    wait_for_all(MPI_COMM_WORLD);
    if (mounted_ && rank_in(MPI_COMM_WORLD) == 0) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  explicit operator bool() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_ = false;
};

// A server that hides a folder from itself leaves the namespace of mounts and comes back, which leads out of a chroot.
bool root_is_a_mount() {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string number, parent, device, inside, place;
  for (std::string rest; mounts >> number >> parent >> device >> inside >> place; std::getline(mounts, rest))
    if (place == "/") return true;
  if (rank_in(MPI_COMM_WORLD) == 0) std::cout << "SKIP of a case: inside a chroot a server cannot hide a folder from itself\n";
  return false;
}

// Steps 0 and 2 are stored, step 1 is not: so says the manifest, for both servers with the same words.
void check_one_lost(const SharedRun& run, const std::string& part) {
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) {
    for (const int step : {0, 2}) {
      const Json stored = run.record(step);
      REQUIRE(stored.contains("files"));
      CHECK(stored.at("complete") == true);
      CHECK(stored.at("files").size() == 1);
    }
    const Json lost = run.record(1);
    REQUIRE(lost.contains("failures"));
    CHECK(lost.at("complete") == false);
    CHECK_FALSE(lost.contains("files"));
    REQUIRE(lost.at("failures").size() == 1);
    CHECK_THAT(lost.at("failures")[0].get<std::string>(), Catch::Contains(part));
    CHECK(run.listing() == std::vector<std::string>{"storm.h5", "storm.i0.h5", "storm.i2.h5", "storm.jsonl", "storm.xmf"});
    CHECK_THAT(run.verified(), Catch::Contains("3 steps, 1 of them partial, 2 files, 4 datasets, ") &&
                                   Catch::Contains(": the files are as recorded"));
  }
  run.job.together();
  CHECK(run.job.regions().empty());
}

TEST_CASE("a disk without room for a shared file fails the step on every server, and the next one that fits is stored") {
  const std::string filters = GENERATE("", " filters='shuffle,deflate:1'");
  SharedRun run("retry='0'" + filters);
  const SmallDisk disk(run);
  if (!disk) return;
  if (run.start()) {
    for (int step = 0; step < 3; ++step) {
      run.write(step, step == 1 ? 300'000 : 100);
      const std::string said = run.end(step);
      if (step != 1) CHECK(said.empty());
      if (step == 1) CHECK_THAT(said, Catch::Contains("No space left on device; free space there"));
    }
    CHECK(dc_finalize() == DC_OK);
  }
  check_one_lost(run, "No space left on device; free space there");
}

// Three steps, of which the second one finds no output folder, and the end of the run. Returns what `end` has said of the second one.
template <class End>
std::string store_with_folder_away(SharedRun& run, End&& end) {
  const std::string elsewhere = run.out + ".elsewhere";
  std::string of_second;
  for (int step = 0; step < 3; ++step) {
    if (step == 1) run.recorded(0);
    run.both();
    if (run.rank() == 0 && step > 0) ::rename((step == 1 ? run.out : elsewhere).c_str(), (step == 1 ? elsewhere : run.out).c_str());
    run.both();
    run.write(step);
    const std::string said = end(step);
    if (step == 1)
      of_second = said;
    else
      CHECK(said.empty());
  }
  CHECK(dc_finalize() == DC_OK);
  return of_second;
}

TEST_CASE("an output folder that vanishes under all servers fails the step on each; put back, the next one is stored") {
  SharedRun run("retry='0'");
  if (run.start()) {
    const std::string said = store_with_folder_away(run, [&](int step) { return run.end(step); });
    CHECK_THAT(said, Catch::EndsWith("No such file or directory; restore the output folder, which existed at start-up"));
  }
  check_one_lost(run, "restore the output folder, which existed at start-up");
}

TEST_CASE("a folder that one server has lost fails the step on both, whoever of them leads") {
  if (!root_is_a_mount()) return;
  const int loser = GENERATE(0, 1);
  SharedRun run("retry='0'");
  const SmallDisk disk(run);
  if (!disk) return;
  if (run.start()) {
    for (int step = 0; step < 3; ++step) {
      if (step == 1) run.recorded(0);
      if (run.rank() == loser && step > 0) run.signal(step == 1 ? "hide" : "show", step);
      run.both();
      run.write(step);
      const std::string said = run.end(step);
      if (step != 1) CHECK(said.empty());
      if (step == 1)
        CHECK_THAT(
            said, Catch::Contains("cannot open " + run.out + "/.storm.i1.h5.tmp.") && Catch::EndsWith("which existed at start-up"));
    }
    CHECK(dc_finalize() == DC_OK);
  }
  // Server 0 has also lost the place of the manifest's line meanwhile.
  if (loser == 1) check_one_lost(run, "restore the output folder");
}

// All three steps are stored, the second one after some tries.
void check_all_stored(const SharedRun& run) {
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) {
    for (const int step : {0, 1, 2}) {
      INFO(run.record(step).dump());
      REQUIRE(run.record(step).contains("files"));
      CHECK(run.record(step).at("complete") == true);
      CHECK(run.record(step).at("files").size() == 1);
    }
    CHECK(run.record(1).value("retries", 0) > 0);
    CHECK(run.listing() ==
          std::vector<std::string>{"storm.h5", "storm.i0.h5", "storm.i1.h5", "storm.i2.h5", "storm.jsonl", "storm.xmf"});
    CHECK_THAT(run.verified(), Catch::Contains("3 steps, 3 files, ") && Catch::Contains(": all as recorded"));
  }
  run.job.together();
  CHECK(run.job.regions().empty());
}

// What the time-out of a flush says.
bool is_retried(std::int64_t step) {
  for (int tries = 0; tries < 2'000; ++tries)
    if (dc_flush(step, 20) == DC_E_TIMEOUT && std::strstr(dc_last_error(), "which retries step ") != nullptr) return true;
  return false;
}

TEST_CASE(
    "a shared file that is refused for a while is written anew by all servers, also by one without data, and later steps wait") {
  const bool all_have_data = GENERATE(true, false);
  SharedRun run;
  if (run.start()) {
    const std::string elsewhere = run.out + ".elsewhere";
    run.write(0);
    CHECK(run.end(0).empty());
    run.recorded(0);
    if (run.rank() == 0) ::rename(run.out.c_str(), elsewhere.c_str());
    run.both();
    if (all_have_data || run.rank() == 0) run.write(1);
    CHECK(dc_end_iteration(1) == DC_OK);
    if (all_have_data || run.rank() == 0) CHECK(is_retried(1));
    run.write(2);
    CHECK(dc_end_iteration(2) == DC_OK);
    run.both();
    if (run.rank() == 0) ::rename(elsewhere.c_str(), run.out.c_str());
    CHECK(dc_flush(2, 30'000) == DC_OK);
    CHECK(dc_finalize() == DC_OK);
  }
  check_all_stored(run);
}

TEST_CASE("where one server alone is refused, all try again until it is not") {
  if (!root_is_a_mount()) return;
  SharedRun run;
  const SmallDisk disk(run);
  if (!disk) return;
  if (run.start()) {
    run.write(0);
    CHECK(run.end(0).empty());
    if (run.rank() == 1) run.signal("hide", 1);
    run.both();
    run.write(1);
    CHECK(dc_end_iteration(1) == DC_OK);
    CHECK(is_retried(1));
    run.both();
    if (run.rank() == 1) run.signal("show", 2);
    run.write(2);
    CHECK(run.end(2).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  check_all_stored(run);
}

TEST_CASE("a shared file that is refused for longer than retry is given up by all servers at once, with one sentence") {
  SharedRun run("retry='500ms'");
  if (run.start()) {
    const std::string said = store_with_folder_away(run, [](int step) { return SharedRun::outcome(step); });
    CHECK_THAT(said, Catch::Contains("No such file or directory; abandoned after "));
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) {
    CHECK(run.record(1).at("complete") == false);
    CHECK(run.record(2).at("complete") == true);
  }
  run.job.together();
  CHECK(run.job.regions().empty());
}

TEST_CASE("a shared file that is refused to the end is left to recovery by every server, which stores its part") {
  SharedRun run("", "size='16MiB'/><server finalize-timeout='10s'");
  const std::string elsewhere = run.out + ".elsewhere";
  if (run.start()) {
    run.write(0);
    CHECK(run.end(0).empty());
    run.recorded(0);
    if (run.rank() == 0) ::rename(run.out.c_str(), elsewhere.c_str());
    run.both();
    for (const int step : {1, 2}) {
      run.write(step);
      CHECK(dc_end_iteration(step) == DC_OK);
    }
    CHECK(dc_finalize() == DC_E_EARLIER_IO);
    CHECK_THAT(dc_last_error(), Catch::Contains("steps 1 to 2 are not stored yet, but left in memory: 'damaris recover /damaris."));
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) {
    CHECK(run.job.regions().size() == 2);
    std::filesystem::remove_all(run.out);
    ::rename(elsewhere.c_str(), run.out.c_str());
    for (const std::string& region : run.job.regions()) {
      const auto recovered = run_program({"damaris", "recover", "/" + std::filesystem::path(region).filename().string()});
      INFO(recovered.out << recovered.err);
      CHECK(recovered.status == 0);
    }
    CHECK_THAT(run.verified(), Catch::Contains("3 steps, ") && Catch::Contains(": all as recorded") && !Catch::Contains("partial"));
  }
  run.job.together();
  CHECK(run.job.regions().empty());
}

TEST_CASE("a block that has changed since its hand-over on one server fails the step on both") {
  SharedRun run("", "size='1MiB' checksum='true'");
  if (run.start()) {
    for (int step = 0; step < 3; ++step) {
      if (step != 1 || run.rank() != 1) {
        run.write(step);
      } else {
        const std::int64_t place = 16;
        void* data = nullptr;
        CHECK(dc_set_position("line", 1, &place) == DC_OK);
        REQUIRE(dc_alloc("x", step, 0, &data) == DC_OK);
        std::fill_n(static_cast<double*>(data), 16, 1.0);
        CHECK(dc_commit("x", step, 0) == DC_OK);
        static_cast<double*>(data)[3] = 2;
      }
      const std::string said = run.end(step);
      if (step != 1) CHECK(said.empty());
      if (step == 1)
        CHECK_THAT(said, Catch::Contains("'x' (block 0) of client 1 has changed in the buffer since it was published in step 1"));
    }
    CHECK(dc_finalize() == DC_OK);
  }
  check_one_lost(run, "of client 1 has changed in the buffer");
}

// Client 1 keeps its server from everything else; client 0 goes on when that is so.
void keep_busy(const SharedRun& run, std::int64_t step) {
  if (run.rank() == 1) {
    run.signal("stay", step);
    for (int tries = 0; tries < 20'000 && ::access(run.job.file("log.stays").c_str(), F_OK) != 0; ++tries) ::usleep(1000);
  }
  run.both();
}

TEST_CASE("a server that is later than the turn-timeout is named by both, and the next step is stored") {
  SharedRun run("turn-timeout='5s'");
  if (run.start()) {
    run.write(0);
    CHECK(run.end(0).empty());
    keep_busy(run, 1);
    run.write(1);
    std::string said;
    if (run.rank() == 0) {
      said = SharedRun::outcome(1);
      run.job.write("log.go", "");
    }
    run.both();
    if (run.rank() == 1) said = SharedRun::outcome(1);
    CHECK_THAT(same_on_all(run.started.clients, said),
               Catch::EndsWith("server 1 did not reach it within 5000 ms, the turn-timeout; "
                               "nothing of it is stored"));
    run.write(2);
    CHECK(run.end(2).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  check_one_lost(run, "server 1 did not reach it within 5000 ms");
}

// It has said that it has nothing of the step, and then does not come when the others write.
TEST_CASE("a server that does not come when it is called is not waited for for ever, and finds that out itself") {
  const int first = GENERATE(0, 1);
  SharedRun run("turn-timeout='3s'");
  if (run.start()) {
    if (first == 1) {
      run.write(0);
      CHECK(run.end(0).empty());
    }
    if (run.rank() == 1) CHECK(SharedRun::outcome(first).empty());
    keep_busy(run, first + 1);
    if (run.rank() == 0) {
      run.write(first);
      CHECK_THAT(SharedRun::outcome(first),
                 Catch::Contains("not all servers of the group came within 3000 ms, as set by turn-timeout"));
      run.job.write("log.go", "");
    }
    // The next one may find server 1 still at the one before.
    run.write(first + 1);
    CHECK_FALSE(run.end(first + 1).empty());
    run.write(first + 2);
    CHECK_THAT(run.end(first + 2), Catch::EndsWith("a server of the group missed an earlier step; restart the run; "
                                                   "nothing of it is stored"));
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  CHECK(run.job.regions().empty());
}

}  // namespace
}  // namespace damaris::test
