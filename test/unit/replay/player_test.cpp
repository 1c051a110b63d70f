#include "replay/player.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "core/base/format.hpp"
#include "plan_of.hpp"
#include "random_program.hpp"
#include "replay/evaluate.hpp"
#include "support/errors.hpp"
#include "support/file_limit.hpp"
#include "support/temp_folder.hpp"

using namespace damaris;
using namespace damaris::replay;
using test::plan_of;

namespace {

const std::atomic<int> kUndisturbed{0};

// A plan played once in a folder that is removed.
Played played(const Plan& plan) {
  const test::TempFolder on;
  PlayFolder folder(on.path().string(), plan);
  folder.fill(kUndisturbed);
  return play(plan, folder, kUndisturbed);
}

std::size_t entries(const test::TempFolder& folder) {
  const std::filesystem::recursive_directory_iterator all(folder.path());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// When each operation of I/O really began and ended, in ns since the start.
std::vector<std::pair<std::uint64_t, std::uint64_t>> real_times(const Plan& plan, const Played& played) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> result(plan.operations.size());
  for_each_time(plan, evaluate(plan, &played.io_ns), &played.io_ns, [&](std::uint32_t i, std::uint64_t begin, std::uint64_t end) {
    result[i] = {begin + played.late[i], end + played.late[i]};
  });
  return result;
}

}  // namespace

TEST_CASE("what random programs play takes what the evaluator says with the measured times of I/O") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::RandomProgram program(seed, 3 + static_cast<int>(seed));
    const std::string text = program.text();
    if (!program.ends()) continue;
    CAPTURE(seed, text);
    const Plan plan = read_plan(text, "plan");
    const Played one = played(plan);
    REQUIRE(one.ends == evaluate(plan, &one.io_ns).ends);
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("I/O that depends on other I/O begins after that has ended, also through a third process") {
  const Plan plan = plan_of(
      "file 0 0 a\nfile 1 0 b\nprocess 0\no 0 rwc\nw 0 0 1000000\ns 0\np 1 0\n"
      "process 1\ng 1 0\nb 2 0\nprocess 2\nb 2 0\no 1 rwc\nw 1 0 1\n");
  const auto times = real_times(plan, played(plan));
  CHECK(times[7].first >= times[2].second);  // the open behind the barrier, and the sync before the post
}

TEST_CASE("a slow process delays those that depend on it, and nobody when the dependency is taken out") {
  const std::string slow = "file 0 9 a\nprocess 0\nc 30000000\np 1 0\n", other = "r 0 0 9\n";
  const Plan with = plan_of(slow + "process 1\ng 1 0\n" + other), without = plan_of(slow + "process 1\n" + other);
  Played one = played(with);
  CHECK(one.ends[1] == 30'000'000 + one.io_ns[3]);
  CHECK(one.total >= 30'000'000);
  one = played(without);
  CHECK(one.ends[1] == one.io_ns[2]);
}

TEST_CASE("files are made, grow, shrink and go as the plan says") {
  const test::TempFolder on;
  const Plan plan = plan_of(
      "file 0 5000 in/deep/old\nfile 1 0 new\nfile 2 10 gone\nfile 3 100 log\nfile 4 0 empty\nfile 5 100 cut\nfile 6 100 short\n"
      "process 0\nr 0 1000 4000\no 1 wc\nw 1 70000 3000000\nx 1\nu 2\nu 2\nm 2\no 3 ra\nm 3\nx 3\no 3 wa\nw 3 0 11\no 5 wt\ns 5\nt "
      "6 40\nm 4\n");
  PlayFolder folder(on.path().string(), plan);
  folder.fill(kUndisturbed);
  const std::string place = folder.path() + "/";
  std::string content(5000, '\0');
  std::ifstream(place + "in/deep/old").read(content.data(), 5000);
  CHECK(std::count(content.begin(), content.end(), '\0') < 200);
  const Played one = play(plan, folder, kUndisturbed);
  CHECK(one.short_reads == 0);
  CHECK(std::filesystem::file_size(place + "new") == 3070000);
  CHECK(!std::filesystem::exists(place + "gone"));
  CHECK(std::filesystem::file_size(place + "log") == 111);
  CHECK(std::filesystem::file_size(place + "empty") == 0);
  CHECK(std::filesystem::file_size(place + "cut") == 0);
  CHECK(std::filesystem::file_size(place + "short") == 40);
  folder.clear();  // for the next repetition
  CHECK(entries(on) == 1);
  folder.fill(kUndisturbed);
  CHECK(std::filesystem::file_size(place + "cut") == 100);
  folder.remove();
  CHECK(entries(on) == 0);
}

TEST_CASE("a file that is open twice is written through the one that may write") {
  CHECK(played(plan_of("file 0 9 a\nprocess 0\no 0 r\no 0 rw\no 0 r\nx 0\nw 0 0 5\nx 0\nr 0 0 5\nx 0\n")).short_reads == 0);
}

TEST_CASE("one operation may be larger than the memory it is written from") {
  const test::TempFolder on;
  const Plan plan = plan_of("file 0 0 a\nprocess 0\no 0 rwc\nw 0 0 150000001\nr 0 0 150000001\n");
  PlayFolder folder(on.path().string(), plan);
  CHECK(play(plan, folder, kUndisturbed).short_reads == 0);
  CHECK(std::filesystem::file_size(folder.path() + "/a") == 150000001);
}

TEST_CASE("reads that come before what they read is written are counted") {
  CHECK(played(plan_of("file 0 0 a\nprocess 0\nr 0 0 10\np 1 0\nprocess 1\ng 1 0\nw 0 0 10\n")).short_reads == 1);
}

TEST_CASE("a thousand processes play, and meet") {
  std::string lines = "file 0 4096 a\n";
  for (int i = 0; i < 1000; ++i) lines += format("process {}\nr 0 0 100\nb 1 5\nr 0 0 100\n", i);
  const Plan plan = plan_of(lines);
  const Played one = played(plan);
  CHECK(one.ends == evaluate(plan, &one.io_ns).ends);
}

TEST_CASE("a link that somebody has put in place of a file or a folder is not followed") {
  const test::TempFolder on, outside;
  const std::string precious = outside.write("precious", "as it was");
  const Plan plan = plan_of("file 0 10 a\nfile 1 10 in/b\nprocess 0\no 1 rwct\nw 1 0 5\no 0 rwct\nw 0 0 5\n");
  PlayFolder folder(on.path().string(), plan);
  folder.fill(kUndisturbed);
  const std::filesystem::path place = folder.path();
  std::filesystem::remove(place / "a");
  std::filesystem::create_symlink(precious, place / "a");
  std::filesystem::rename(place / "in", place / "moved");
  std::filesystem::create_directory_symlink(outside.path(), place / "in");
  const std::string said = test::error_of([&] { play(plan, folder, kUndisturbed); }).sentence();
  CHECK(said.find("plan:7: 'o 0' of process 0 has failed on '" + folder.path() + "/a': Too many levels of symbolic links") == 0);
  CHECK(std::filesystem::file_size(precious) == 9);
  CHECK(entries(outside) == 1);
  const std::string left = test::error_of([&] { folder.remove(); }).sentence();
  CHECK(left.find("is left") != std::string::npos);
  CHECK(std::filesystem::file_size(precious) == 9);
}

TEST_CASE("the folder of a replay is not made through a link, and has another name each time") {
  const test::TempFolder on;
  const Plan plan = plan_of("process 0\nc 1\n");
  const PlayFolder a(on.path().string(), plan), b(on.path().string(), plan);
  CHECK(a.path() != b.path());
  CHECK((std::filesystem::status(a.path()).permissions() & std::filesystem::perms::all) == std::filesystem::perms::owner_all);
}

TEST_CASE("an I/O error names the line, stops the others, and leaves the folder as it was") {
  const test::TempFolder on;
  const Plan plan = plan_of(
      "file 0 0 a\nprocess 0\no 0 rwc\nw 0 0 3000000\nprocess 1\nc 100000000000\nprocess 2\nb 1 0\nprocess 3\nc 100000000000\nb 1 "
      "0\nr 0 0 1\n");
  {
    const test::FileLimit limit(1 << 20);
    PlayFolder folder(on.path().string(), plan);
    folder.fill(kUndisturbed);
    const Error error = test::error_of([&] { play(plan, folder, kUndisturbed); });
    CHECK(error.code() == DC_E_IO);
    CHECK(error.sentence().find("plan:5: 'w 0' of process 0 has failed on") == 0);
  }
  CHECK(entries(on) == 0);
}

TEST_CASE("a replay that is interrupted ends at once, and leaves the folder as it was") {
  const test::TempFolder on;
  const Plan plan = plan_of("file 0 0 a\nprocess 0\no 0 rwc\nc 100000000000\np 1 0\nw 0 0 3\nprocess 1\ng 1 0\nr 0 0 1\n");
  {
    PlayFolder folder(on.path().string(), plan);
    folder.fill(kUndisturbed);
    std::atomic<int> interrupted{0};
    CHECK(test::error_of([&] { play(plan, folder, interrupted, [&](std::size_t) { interrupted = 2; }); }).code() == DC_E_STOPPED);
    CHECK(test::error_of([&] { folder.clear(), folder.fill(interrupted); }).code() == DC_E_STOPPED);
  }
  CHECK(entries(on) == 0);
}

TEST_CASE("a folder that is none, or a disk that is too small, is refused before anything is made") {
  const test::TempFolder on;
  const Plan large = plan_of("file 0 1152921504606846976 a\nprocess 0\nc 1\n");
  const std::string said = test::error_of([&] { PlayFolder(on.path().string(), large); }).sentence();
  CHECK(said.find(" free, and the plan writes 1 EiB; free some, or name a folder on a larger file system with --on") !=
        std::string::npos);
  CHECK(entries(on) == 0);
  CHECK(test::error_of([&] { PlayFolder(on.file("none"), plan_of("process 0\n")); }).code() == DC_E_NO_OUTPUT);
  on.write("file", "");
  CHECK(test::error_of([&] { PlayFolder(on.file("file"), plan_of("process 0\n")); }).code() == DC_E_NO_OUTPUT);
}
