#include "core/base/file_facts.hpp"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "core/base/answer_about.hpp"
#include "core/base/clock.hpp"
#include "support/temp_folder.hpp"

namespace {

std::atomic<bool> hangs{false};
std::atomic<int> hanging{0};

}  // namespace

// The library's: what the code under test calls is looked for in the program first.
extern "C" int lstat(const char* path, struct stat* facts) noexcept {
  if (std::string(path).find("hangs") != std::string::npos) {
    ++hanging;
    while (hangs) ::usleep(1'000);
    --hanging;
  }
  return reinterpret_cast<int (*)(const char*, struct stat*)>(::dlsym(RTLD_NEXT, "lstat"))(path, facts);
}

namespace damaris {
namespace {

constexpr std::int64_t kPatienceMs = 60'000;

TEST_CASE("what is at a path is known, links and all") {
  const test::TempFolder folder;
  folder.write("there", "12345");
  const auto there = facts_within(folder.file("there"), kPatienceMs);
  REQUIRE(there);
  CHECK((there->exists && there->is_regular && there->bytes == 5 && there->link_owner == ::geteuid()));
  const auto nothing = facts_within(folder.file("nothing"), kPatienceMs);
  REQUIRE(nothing);
  CHECK_FALSE(nothing->exists);
  const auto a_folder = facts_within(folder.path(), kPatienceMs);
  REQUIRE(a_folder);
  CHECK((a_folder->exists && !a_folder->is_regular));
}

TEST_CASE("a file system that does not answer is left behind after the time-out, and not waited for again until it has",
          "[unpromised]") {
  const test::TempFolder folder;
  folder.write("hangs", "12345");
  hangs = true;
  const auto facts = facts_within(folder.file("hangs"), 20);
  const auto start = Clock::now();
  CHECK_FALSE(facts_within(folder.file("hangs"), 15'000));
  CHECK_FALSE(facts_within(folder.path().string() + "/./hangs", 15'000));
  CHECK(seconds_since(start) < 20);
  hangs = false;
  CHECK_FALSE(facts);
  while (hanging > 0 || is_unanswered(folder.file("hangs"))) ::usleep(1'000);  // else the test's time limit ends it
  CHECK(facts_within(folder.file("hangs"), kPatienceMs));
}

}  // namespace
}  // namespace damaris
