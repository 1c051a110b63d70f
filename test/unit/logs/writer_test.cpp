#include "log_folder.hpp"

#include <signal.h>
#include <sys/resource.h>

namespace damaris::test {
namespace {

using logs::Existing;
using logs::Writer;

// A log of run `run` with "one" of stream 0; `ended`: its server came to its end.
void write_one(const LogFolder& log, bool ended, std::uint64_t run = 1, Existing existing = Existing::automatic) {
  Writer writer(log.settings(existing, run));
  const std::string one = "one";
  writer.store({append_of(0, writer.end(0), one)});
  if (ended) writer.finish();
}

TEST_CASE("appends come back in the order of their places, whatever the order of their arrival") {
  LogFolder log;
  const std::string a = "aaa", b = "bb", c = "cccc", other = "other";
  Writer writer(log.settings());
  CHECK(writer.store({append_of(0, 5, c), append_of(1, 0, other), append_of(0, 3, b)}) == 0);
  CHECK(writer.store({append_of(0, 0, a)}) == 0);
  writer.finish();
  CHECK(log.bytes_of(0) == "aaabbcccc");
  CHECK(log.bytes_of(1) == "other");
  CHECK(std::filesystem::file_size(log.data(0)) == 9);
}

TEST_CASE("appends of a stream that follow each other have one entry, and blocks are crossed without loss") {
  LogFolder log;
  std::vector<std::string> bytes;
  std::vector<logs::Append> appends;
  std::string all;
  for (int i = 0; i < 300; ++i) bytes.push_back(std::string(97, static_cast<char>('a' + i % 26)));
  for (const std::string& one : bytes) {
    appends.push_back(append_of(0, all.size(), one));
    all += one;
  }
  Writer writer(log.settings());
  writer.store(appends);
  writer.finish();
  CHECK(log.bytes_of(0) == all);
  CHECK(logs::Reader(log.index()).streams().at(0).pieces.size() == 1);
}

TEST_CASE("an append where another one lies is refused, and the log never ends") {
  LogFolder log;
  const std::string first = "first", wrong = "XXXXX", cross = "cross";
  Writer writer(log.settings());
  writer.store({append_of(0, 0, first)});
  CHECK_FALSE(writer.lacks());
  CHECK(writer.store({append_of(0, 0, wrong)}) == 1);
  CHECK(writer.store({append_of(0, 3, cross)}) == 1);
  CHECK(writer.store({append_of(0, 10, cross), append_of(0, 12, cross)}) == 1);
  CHECK(writer.lacks());
  writer.finish();
  CHECK_FALSE(logs::Reader(log.index()).index().ended());
  CHECK(log.bytes_of(0) == "firstcross");
}

TEST_CASE("a run replaces a log that has ended with its first append, and not before") {
  LogFolder log;
  write_one(log, true);
  { Writer(log.settings(Existing::automatic, 2)).finish(); }
  CHECK(log.bytes_of(0) == "one");
  write_one(log, true, 2);
  CHECK(log.bytes_of(0) == "one");
  CHECK(logs::Reader(log.index()).index().run() == 2u);
  CHECK(std::filesystem::file_size(log.data(0)) == 3);
}

TEST_CASE("a run does not start over a log whose run was killed, unless it is told so") {
  LogFolder log;
  write_one(log, false);
  const Error error = error_of([&] { Writer(log.settings(Existing::automatic, 2)); });
  CHECK(error.code() == DC_E_NO_OUTPUT);
  CHECK_THAT(error.sentence(), Catch::Contains("did not come to its end") && Catch::Contains(log.index()));
  CHECK_THAT(error_of([&] { Writer(log.settings(Existing::refuse, 2)); }).sentence(), Catch::Contains("of an earlier run"));
  write_one(log, true, 2, Existing::append);
  CHECK(log.bytes_of(0) == "oneone");
  write_one(log, true, 3, Existing::overwrite);
  CHECK(log.bytes_of(0) == "one");
}

TEST_CASE("a recovery completes the log of its run, and does not touch that of another") {
  LogFolder log;
  write_one(log, false, 7);
  const std::string two = "two", one = "one";
  {
    Writer writer(log.settings(Existing::recover, 7));
    writer.store({append_of(0, 0, one), append_of(0, 3, two)});
    writer.finish();
  }
  CHECK(log.bytes_of(0) == "onetwo");
  CHECK(logs::Reader(log.index()).index().ended());
  const Error error = error_of([&] { Writer(log.settings(Existing::recover, 8)).store({append_of(0, 0, one)}); });
  CHECK(error.code() == DC_E_NO_OUTPUT);
  CHECK_THAT(error.sentence(), Catch::Contains("is a log of another run"));
}

TEST_CASE("a recovery takes the log of the run before as the server did that was killed before it had stored anything") {
  using Kind = logs::Before::Kind;
  const std::string two = "two";
  for (const Kind kind : {Kind::replaced, Kind::continued}) {
    LogFolder log;
    write_one(log, true, 1);
    const Existing existing = kind == Kind::replaced ? Existing::automatic : Existing::append;
    logs::LogSettings settings = log.settings(Existing::recover, 2);
    settings.before = Writer(log.settings(existing, 2)).before();
    CHECK(settings.before.kind == kind);
    CHECK(settings.before.run == 1);
    Writer recovery(settings);
    CHECK(recovery.block_reason() == nullptr);
    recovery.store({append_of(0, kind == Kind::replaced ? 0 : 3, two)});
    recovery.finish();
    CHECK(log.bytes_of(0) == (kind == Kind::replaced ? "two" : "onetwo"));
  }
}

TEST_CASE("whoever goes on with a log syncs also what the server before it had only written") {
  LogFolder log;
  write_one(log, false, 7);
  std::filesystem::remove(log.data(0));
  std::filesystem::create_directory(log.data(0));  // which shows who opens it
  Writer recovery(log.settings(Existing::recover, 7));
  const Error error = error_of([&] { recovery.sync(); });
  CHECK(error.code() == DC_E_IO);
  CHECK_THAT(error.sentence(), Catch::Contains(log.data(0)));
  Writer next(log.settings(Existing::append, 8));
  const std::string other = "other";
  next.store({append_of(1, 0, other)});
  CHECK_THAT(error_of([&] { next.sync(); }).sentence(), Catch::Contains(log.data(0)));
}

TEST_CASE("a torn end of the index is cut by whoever goes on with it") {
  LogFolder log;
  write_one(log, false, 7);
  std::ofstream(log.index(), std::ios::app) << "torn entry";
  CHECK(logs::Reader(log.index()).index().torn_bytes == 10);
  const std::string two = "two";
  {
    Writer writer(log.settings(Existing::recover, 7));
    CHECK(writer.end(0) == 3);
    writer.store({append_of(0, 3, two)});
    writer.finish();
  }
  CHECK(log.bytes_of(0) == "onetwo");
  CHECK(logs::Reader(log.index()).index().torn_bytes == 0);
}

TEST_CASE("another number of files than the log has is refused by name") {
  LogFolder log;
  write_one(log, true);
  logs::LogSettings settings = log.settings(Existing::append, 2);
  settings.files = 3;
  CHECK_THAT(error_of([&] { Writer writer(settings); }).sentence(),
             Catch::Contains("has 2 files") && Catch::Contains("files=\"3\""));
}

TEST_CASE("a folder that is not there, and something else at the name, are said at the start") {
  LogFolder log;
  logs::LogSettings settings = log.settings();
  settings.basename = log.folder().file("nowhere/run");
  const Error error = error_of([&] { Writer writer(settings); });
  CHECK(error.code() == DC_E_NO_OUTPUT);
  CHECK_THAT(error.sentence(), Catch::Contains("log 'events' cannot be kept in") && Catch::Contains("nowhere"));
  log.folder().write("run.host.s0.events.stream-index", std::string(300, 'x'));
  CHECK_THAT(error_of([&] { Writer(log.settings()); }).sentence(), Catch::Contains("is no index of a stream log"));
}

TEST_CASE("a write that the file system refuses counts as not made, and can be repeated") {
  LogFolder log;
  Writer writer(log.settings());
  const std::string small = "small", large(1 << 16, 'l');
  writer.store({append_of(0, 0, small)});
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit low = {1 << 12, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  const Error error = error_of([&] { writer.store({append_of(0, 5, large)}); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(error.code() == DC_E_IO);
  CHECK_THAT(error.sentence(), Catch::Contains(log.data(0)));
  CHECK(log.bytes_of(0) == small);
  CHECK(writer.store({append_of(0, 5, large)}) == 0);
  writer.finish();
  CHECK(log.bytes_of(0) == small + large);
}

TEST_CASE("a log that nothing was appended to leaves no file") {
  LogFolder log;
  { Writer(log.settings()).finish(); }
  CHECK(std::filesystem::is_empty(log.folder().path()));
}

}  // namespace
}  // namespace damaris::test
