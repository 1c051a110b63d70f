// The calls as a program makes them, right and wrong, in a process that does the server's work itself.
#include <damaris/damaris.h>

#include <damaris/damaris.hpp>

#include "log_run.hpp"

namespace damaris::test {
namespace {

bool said(const std::string& part) { return std::string(dc_last_error()).find(part) != std::string::npos; }

class InPlace {
 public:
  explicit InPlace(const std::string& logs = "<stream-log name='events'/><stream-log name='other' files='3'/>",
                   const std::string& buffer = "<buffer size='1MiB'/>")
      : here_(folder_.path().string()),
        code_(dc_initialize(folder_
                                .write("run.xml", "<simulation name='run'><architecture><dedicated cores='0'/>" + buffer +
                                                      "</architecture><storage>" + logs + "</storage></simulation>")
                                .c_str(),
                            0)) {}
  ~InPlace() { (void)!dc_finalize(); }
  int code() const { return code_; }
  std::string base() const { return folder_.file("run"); }

 private:
  TempFolder folder_;
  const InFolder here_;
  int code_;
};

TEST_CASE("in place the process writes its logs itself") {
  InPlace run;
  REQUIRE(run.code() == DC_OK);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string text = "event " + std::to_string(i) + "\n";
    dc_position_t where = {-1, 0};
    REQUIRE(dc_append("events", text.data(), text.size(), &where) == DC_OK);
    CHECK(where.file == 0);
    CHECK(where.offset == expected.size());
    expected += text;
  }
  REQUIRE(dc_append("other", "x", 1, nullptr) == DC_OK);
  REQUIRE(dc_log_commit("events", 10'000) == DC_OK);
  std::string read;
  logs::Reader::find(run.base(), "events").front().read(0, [&](std::string_view bytes) { read += bytes; });
  CHECK(read == expected);
  CHECK(dc_finalize() == DC_OK);
  CHECK(logs::Reader::find(run.base(), "other").front().index().ended());
}

TEST_CASE("wrong calls are refused with a code and a sentence, and append nothing") {
  InPlace run;
  REQUIRE(run.code() == DC_OK);
  dc_log_t* log = nullptr;
  dc_log_t* other = nullptr;
  void* data = nullptr;
  CHECK(dc_append("event", "x", 1, nullptr) == DC_E_UNKNOWN_NAME);
  CHECK(said("did you mean 'events'"));
  CHECK(dc_log_commit("nothing", 1) == DC_E_UNKNOWN_NAME);
  CHECK(dc_log(nullptr, &log) == DC_E_ARGUMENT);
  REQUIRE(dc_log("events", &log) == DC_OK);
  REQUIRE(dc_log("other", &other) == DC_OK);
  CHECK(dc_append_to(nullptr, "x", 1, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_append_to(reinterpret_cast<dc_log_t*>(&run), "x", 1, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_append_to(log, nullptr, 1, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_append_to(log, "", 2 << 20, nullptr) == DC_E_TOO_LARGE);
  CHECK(said("append it in parts"));
  CHECK(dc_append_list(log, nullptr, -1, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_append_alloc(log, 0, &data) == DC_E_ARGUMENT);
  REQUIRE(dc_append_alloc(log, 10, &data) == DC_OK);
  CHECK(dc_append_publish(log, data, 11, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_append_publish(other, data, 10, nullptr) == DC_E_NOT_ALLOCATED);
  CHECK(dc_append_publish(log, data, 0, nullptr) == DC_OK);
  CHECK(dc_append_publish(log, data, 10, nullptr) == DC_E_NOT_ALLOCATED);
  CHECK(dc_log_commit("events", -1) == DC_E_ARGUMENT);
  CHECK(dc_append_to(log, nullptr, 0, nullptr) == DC_OK);
  CHECK(dc_finalize() == DC_OK);
  CHECK(logs::Reader::indexes_of(run.base()).empty());
}

TEST_CASE("the C++ interface appends, lists, allocates and commits") {
  InPlace run;
  REQUIRE(run.code() == DC_OK);
  auto session = damaris::Session::adopt();
  const damaris::Log log = session.log("events");
  log.append("one ", 4);
  CHECK(log.append({{"two ", 4}, {"three ", 6}}).offset == 4);
  damaris::AppendBlock block = log.alloc(16);
  std::memcpy(block.data(), "four", 4);
  CHECK(block.publish(4).offset == 14);
  CHECK(block.data() == nullptr);
  CHECK_THROWS_AS(session.log("nothing"), damaris::Error);
  log.commit(std::chrono::seconds(10));
  std::string read;
  logs::Reader::find(run.base()).front().read(0, [&](std::string_view bytes) { read += bytes; });
  CHECK(read == "one two three four");
  session.finalize();
}

TEST_CASE("without buffering: when no room is left to wait for the file, the bytes are appended all the same, once") {
  InPlace run("<stream-log name='events' buffered='false' block='4KiB'/>", "<buffer size='64KiB' timeout='100ms'/>");
  REQUIRE(run.code() == DC_OK);
  const std::string index = logs::Reader::indexes_of(run.base()).front();
  const std::string data = index.substr(0, index.rfind(".stream-index")) + ".0.stream";
  std::filesystem::create_directory(data);  // a file that cannot be opened: so the bytes stay in the buffer
  auto session = damaris::Session::adopt();
  const damaris::Log log = session.log("events");
  std::size_t size = 64 << 10;
  const auto alloc = [&] {
    try {
      return std::optional(log.alloc(size));
    } catch (const damaris::Error& error) {
      REQUIRE(error.code() == DC_E_TOO_LARGE);
      return std::optional<damaris::AppendBlock>();
    }
  };
  std::optional<damaris::AppendBlock> block = alloc();
  for (; !block; block = alloc()) size -= 64;  // the largest that there is room for
  std::memset(block->data(), 'x', size);
  try {
    block->publish(size);
    FAIL("the bytes cannot be in the file");
  } catch (const damaris::Error& error) {
    CHECK(error.code() == DC_E_TIMEOUT);
    CHECK_THAT(error.what(), Catch::Contains("appended to log 'events', but not in the file yet"));
  }
  CHECK(block->data() == nullptr);
  std::filesystem::remove(data);
  session.finalize();
  CHECK(std::filesystem::file_size(data) == size);
}

TEST_CASE("an allocation that is never published is no part of the log") {
  InPlace run;
  REQUIRE(run.code() == DC_OK);
  dc_log_t* log = nullptr;
  void* data = nullptr;
  REQUIRE(dc_log("events", &log) == DC_OK);
  REQUIRE(dc_append_alloc(log, 100, &data) == DC_OK);
  REQUIRE(dc_append_to(log, "x", 1, nullptr) == DC_OK);
  CHECK(dc_finalize() == DC_OK);
  CHECK(logs::Reader::find(run.base()).front().holes().empty());
  CHECK(logs::Reader::find(run.base()).front().streams().at(0).bytes == 1);
}

TEST_CASE("a folder that is not there stops the start, with place and cause") {
  TempFolder folder;
  const InFolder here(folder.path().string());
  const std::string config = folder.write("run.xml",
                                          "<simulation name='run'><architecture><dedicated cores='0'/></architecture><storage>"
                                          "<hdf5 basename='nowhere/run'/><stream-log name='events'/></storage></simulation>");
  CHECK(dc_initialize(config.c_str(), 0) == DC_E_NO_OUTPUT);
  CHECK(said("nowhere"));
}

}  // namespace
}  // namespace damaris::test
