// The log of one server: what is there after a kill, a full disk, a second process.
#include "manifest/log.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <damaris/error.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "manifest/log_reader.hpp"
#include "manifest/output_folder.hpp"
#include "support/temp_folder.hpp"

namespace damaris::manifest {
namespace {

using test::TempFolder;

const LogName kName = {1, "n", 0};

std::string lines_in(const std::string& path) {
  std::string text;
  LogReader reader(path, kName);
  reader.was_replaced();
  for (const LogRecord& record : reader.read_on(100)) text += std::holds_alternative<DamagedRecord>(record) ? "!" : ".";
  return text;
}

const Json kBack = {{"back", "now"}};

}  // namespace

TEST_CASE("the name of a log says whose it is") {
  const LogName name = {12, "node7", 3};
  CHECK(name.of("storm") == "storm.g12.node7.s3.jsonl");
  CHECK(log_name_from("storm.g12.node7.s3.jsonl", "storm") == name);
  for (const char* other : {"storm.g12.node7.s3.h5", "storm.g.node7.s3.jsonl", "storm.g1.s3.jsonl", "storms.g1.n.s3.jsonl",
                            "storm.g1.n.sx.jsonl", "storm.jsonl", "storm.g-1.n.s3.jsonl"})
    CHECK_FALSE(log_name_from(other, "storm"));
  const TempFolder folder;
  for (const char* file : {"storm.g2.n.s0.jsonl", "storm.g1.n.s1.jsonl", "storm.a.g1.n.s0.jsonl", "storm.jsonl"})
    folder.write(file, "");
  CHECK(stems_in(folder.path()) == std::set<std::string>{"storm", "storm.a"});
  CHECK(find_logs(folder.path(), "storm") == std::vector<LogName>{{1, "n", 1}, {2, "n", 0}});
}

TEST_CASE("a log that is opened again goes on with the next number, without a line that was cut off") {
  const TempFolder folder;
  const std::string path = folder.file("log");
  { Log(path).append(kBack); }
  std::ofstream(path, std::ios::app) << R"({"n":2,"back":"cut off, and longer than what follows)";
  {
    Log log(path);
    CHECK_FALSE(log.is_empty());
    log.append(kBack);
  }
  CHECK(lines_in(path) == "..");
}

TEST_CASE("a log has one living process, and its death frees it") {
  const TempFolder folder;
  const std::string path = folder.file("log");
  const pid_t child = ::fork();
  if (child == 0) {
    Log log(path);
    log.append(kBack);
    ::pause();
  }
  while (lines_in(path).empty()) ::usleep(1000);
  CHECK(holder_of(path) == Holder::alive);
  CHECK_THROWS_AS(Log(path), Error);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(holder_of(path) == Holder::none);
  CHECK(holder_of(folder.file("none")) == Holder::none);
  CHECK_FALSE(Log(path).is_empty());
}

TEST_CASE("a record that does not fit leaves nothing of itself, and comes later") {
  const TempFolder folder;
  const std::string path = folder.file("log");
  Log log(path);
  log.append(kBack);
  const auto size = std::filesystem::file_size(path);
  struct rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit little = {static_cast<rlim_t>(size + 10), before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  CHECK_THROWS_AS(log.append(kBack), Failure);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  CHECK(std::filesystem::file_size(path) == size);
  log.append(kBack);
  CHECK(lines_in(path) == "..");
}

TEST_CASE("room for the next record is reserved beyond the end of the log, and given back at the end") {
  const TempFolder folder;
  const std::string path = folder.file("log");
  const auto blocks = [&] {
    struct stat info = {};
    ::stat(path.c_str(), &info);
    return info.st_blocks * 512;
  };
  Log log(path);
  log.append(kBack);
  const auto size = std::filesystem::file_size(path);
  log.reserve();
  CHECK(std::filesystem::file_size(path) == size);
  if (blocks() > 65'536) {  // the file system reserves
    log.end();
    CHECK(blocks() < 65'536);
  }
}

}  // namespace damaris::manifest
