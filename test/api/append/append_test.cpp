// Streams of many processes in few files.
#include "log_run.hpp"

#include <sstream>

namespace damaris::test {
namespace {

TEST_CASE("64 processes append to 2 files: each stream comes back whole and in order, and positions are true") {
  constexpr int kClients = 64, kRounds = 4, kEach = 100;
  LogRun run("<clients count='64'/><buffer size='32MiB'/>");
  for (int id = 0; id < kClients; ++id) run.client(id).ask("init " + std::to_string(id));
  for (int id = 0; id < kClients; ++id) REQUIRE(run.client(id).answer().code == DC_OK);
  std::map<int, std::string> last;
  for (int round = 0; round < kRounds; ++round) {
    const char* const words[] = {"append", "list", "alloc"};
    for (int id = 0; id < kClients; ++id) run.client(id).ask(std::string(words[(round + id) % 3]) + " 100 3000");
    for (int id = 0; id < kClients; ++id) {
      const Answer answer = run.client(id).answer();
      INFO(answer.sentence);
      REQUIRE(answer.code == DC_OK);
      last[id] = answer.sentence;
    }
  }
  run.client(5).must("commit 60000");
  CHECK(run.records_of(5) == kRounds * kEach);
  for (int id = 0; id < kClients; ++id) run.client(id).ask("finalize");
  for (int id = 0; id < kClients; ++id) REQUIRE(run.client(id).answer().code == DC_OK);
  REQUIRE(run.ends());

  const logs::Reader reader = run.reader();
  CHECK(reader.index().ended());
  CHECK(reader.index().header.files == 2);
  CHECK(reader.holes().empty());
  CHECK(reader.damages().empty());
  REQUIRE(reader.streams().size() == kClients);
  for (int id = 0; id < kClients; ++id) {
    CHECK(run.records_of(static_cast<std::uint32_t>(id)) == kRounds * kEach);
    std::uint32_t number = 0;
    std::uint64_t file = 0, offset = 0;
    std::istringstream(last[id]) >> number >> file >> offset;
    CHECK(file == static_cast<std::uint64_t>(id % 2));
    std::ifstream data(reader.path().substr(0, reader.path().rfind(".stream-index")) + "." + std::to_string(file) + ".stream");
    data.seekg(static_cast<std::streamoff>(offset));
    std::vector<unsigned char> record(3000);
    data.read(reinterpret_cast<char*>(record.data()), static_cast<std::streamsize>(record.size()));
    CHECK(check_record(record.data(), static_cast<std::uint64_t>(data.gcount()), static_cast<std::uint32_t>(id), number - 1) > 0);
  }
}

TEST_CASE("appends belong to no step: those of a client that ends none come back, beside steps of another one") {
  LogRun run("<clients count='2'/>");
  run.attached(0);
  run.attached(1);
  for (int step = 0; step < 5; ++step) {
    run.client(0).must("append 20 500");
    run.client(0).must("write " + std::to_string(step));
    run.client(0).must("end " + std::to_string(step));
    run.client(1).must("append 20 500");
  }
  for (int id = 0; id < 2; ++id) run.client(id).ask("finalize");
  for (int id = 0; id < 2; ++id) CHECK(run.client(id).answer().code == DC_OK);
  REQUIRE(run.ends());
  CHECK(run.records_of(0) == 100);
  CHECK(run.records_of(1) == 100);
}

TEST_CASE("an unbuffered append is in the file when it returns") {
  LogRun run("<clients count='1'/>", "buffered='false'");
  run.attached(0);
  for (std::uint32_t number = 1; number <= 5; ++number) {
    run.client(0).must("append 1 5000");
    CHECK(run.records_of(0) == number);
  }
  run.client(0).must("finalize");
  CHECK(run.ends());
}

TEST_CASE("with a shared pool streams come back as well") {
  LogRun run("<clients count='3'/><buffer size='1MiB' split='shared'/>");
  for (int id = 0; id < 3; ++id) run.attached(id);
  for (int id = 0; id < 3; ++id) run.client(id).ask("append 500 4000");
  for (int id = 0; id < 3; ++id) REQUIRE(run.client(id).answer().code == DC_OK);
  for (int id = 0; id < 3; ++id) run.client(id).ask("finalize");
  for (int id = 0; id < 3; ++id) CHECK(run.client(id).answer().code == DC_OK);
  REQUIRE(run.ends());
  for (std::uint32_t id = 0; id < 3; ++id) CHECK(run.records_of(id) == 500);
}

TEST_CASE("damaris stream-log writes a stream, all streams, or says what there is") {
  LogRun run("<clients count='1'/>", "");
  run.attached(3).must("append 50 100");
  run.client(3).must("finalize");
  REQUIRE(run.ends());
  const Output listed = damaris({"stream-log", run.base(), "--list"});
  CHECK(listed.status == 0);
  CHECK_THAT(listed.text, Catch::Contains("1 streams in 1 files, ended") && Catch::Contains("stream 3"));
  CHECK(damaris({"stream-log", run.base(), "--stream", "4"}).status == 1);
#ifdef DAMARIS_TEST_VERIFY
  const Output verified = damaris({"verify", run.base()});
  CHECK(verified.status == 0);
  CHECK_THAT(verified.text, Catch::Contains("1 log, 1 stream") && Catch::Contains("COMPLETE: its logs"));
  std::fstream data(run.reader().path().substr(0, run.reader().path().rfind(".stream-index")) + ".0.stream",
                    std::ios::in | std::ios::out);
  data.seekp(100);
  data.put('X');
  data.close();
  const Output damaged = damaris({"verify", run.base()});
  CHECK(damaged.status == 1);
  CHECK_THAT(damaged.text, Catch::Contains("damaged") && Catch::Contains("do not match their checksum"));
  CHECK(damaris({"verify", run.base(), "--quick"}).status == 0);
  CHECK_THAT(damaris({"verify", run.base(), "--json"}).text, Catch::Contains("\"streams\": 1"));
#endif
  CHECK_THAT(damaris({"stream-log", run.base(), "--log", "evens"}).text, Catch::Contains("there is 'events'"));
  CHECK(damaris({"stream-log", run.folder().file("nothing")}).status == 2);
}

}  // namespace
}  // namespace damaris::test
