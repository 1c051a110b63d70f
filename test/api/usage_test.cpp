// Wrong calls and bad input at the C interface, in place: no MPI, no server process. Each case looks at code and sentence.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

std::string said() { return dc_last_error(); }
bool said(const std::string& part) { return said().find(part) != std::string::npos; }

const char* const kData =
    "<parameter name='n' type='int' value='4'/><parameter name='fixed' type='int' value='4' constant='true'/>"
    "<layout name='line' type='int' dimensions='n'/><parameter name='m' type='int' value='1'/><layout name='big' type='double' "
    "dimensions='m'/>"
    "<variable name='height' layout='line'/><variable name='huge' layout='big'/>"
    "<variable name='quiet' layout='line' enabled='false'/>";

std::string xml(const std::string& storage = "", const std::string& buffer = "64KiB") {
  return "<simulation name='usage'><architecture><dedicated cores='0'/><buffer size='" + buffer + "'/></architecture><data>" +
         kData + "</data>" + storage + "<actions><event name='tick'/></actions></simulation>";
}

// A session in place for one test case.
struct Session {
  explicit Session(const std::string& text = xml()) : code(dc_initialize(folder.write("usage.xml", text).c_str(), 0)) {
    if (code != DC_OK) FAIL(dc_last_error());
  }
  ~Session() {
    if (open && code == DC_OK) code = dc_finalize();
  }
  int finalize() {
    open = false;
    return dc_finalize();
  }
  TempFolder folder;
  int code;
  bool open = true;
};

const int kFour[4] = {1, 2, 3, 4};

int initialize(const std::string& text) {
  const TempFolder folder;
  return dc_initialize(folder.write("bad.xml", text).c_str(), 0);
}

TEST_CASE("calls before initialize and after finalize are refused and say what to do") {
  dc_status_t status;
  dc_layout_t layout;
  dc_variable_t* handle = nullptr;
  std::int64_t list[1] = {1};
  void* data = nullptr;
  int four[4] = {};
  const auto all = [&] {
    return std::vector<int>{dc_write("height", 0, kFour),
                            dc_write_block("height", 0, 1, kFour),
                            dc_write_typed("height", 0, 0, DC_INT32, kFour, 0, nullptr, nullptr),
                            dc_alloc("height", 0, 0, &data),
                            dc_commit("height", 0, 0),
                            dc_variable("height", &handle),
                            dc_write_to(handle, 0, kFour),
                            dc_read("height", 0, four),
                            dc_read_block("height", 0, 1, four),
                            dc_read_typed("height", 0, 0, DC_INT32, four, 0, nullptr, nullptr),
                            dc_last_step("height", list),
                            dc_signal("tick", 0),
                            dc_end_iteration(0),
                            dc_flush(0, 1),
                            dc_status(&status),
                            dc_set_parameter("n", 1),
                            dc_get_parameter("n", list),
                            dc_set_shape("line", 1, list),
                            dc_set_position("line", 1, list),
                            dc_set_time(0, 0.0),
                            dc_get_layout("height", &layout),
                            dc_finalize()};
  };
  for (const int code : all()) CHECK(code == DC_E_NOT_INITIALIZED);
  CHECK(said() == "Damaris is not initialized in this process; call dc_initialize or dc_mpi_initialize first");
  {
    Session session;
    REQUIRE(session.code == DC_OK);
  }
  for (const int code : all()) CHECK(code == DC_E_NOT_INITIALIZED);
}

TEST_CASE("a second initialize is refused and the first session goes on") {
  Session session;
  REQUIRE(session.code == DC_OK);
  CHECK(dc_initialize("usage.xml", 0) == DC_E_ALREADY_INITIALIZED);
  CHECK(said("already initialized in this process; call dc_finalize before a second dc_initialize"));
  CHECK(dc_write("height", 0, kFour) == DC_OK);
}

TEST_CASE("a process may initialize again after finalize, also after a failed start") {
  CHECK(initialize("<simulation") == DC_E_CONFIG);
  for (int round = 0; round < 3; ++round) {
    Session session;
    REQUIRE(session.code == DC_OK);
    CHECK(dc_write("height", 0, kFour) == DC_OK);
    CHECK(session.finalize() == DC_OK);
  }
}

TEST_CASE("a missing, empty or malformed XML is refused with the file and what is wrong") {
  CHECK(dc_initialize("/nowhere/at/all.xml", 0) == DC_E_CONFIG);
  CHECK(said("/nowhere/at/all.xml"));
  CHECK(dc_initialize("/", 0) == DC_E_CONFIG);
  CHECK(initialize("") == DC_E_CONFIG);
  CHECK(said("empty"));
  CHECK(initialize("<simulation><data></simulation>") == DC_E_CONFIG);
  CHECK(said("bad.xml:1:"));
  CHECK(initialize("<simulation><data><variable name='x' layout='lin'/><layout name='line' type='int' "
                   "dimensions='4'/></data></simulation>") == DC_E_CONFIG);
  CHECK(said("did you mean 'line'?"));
  CHECK(dc_initialize(nullptr, 0) == DC_E_ARGUMENT);
  const TempFolder folder;
  CHECK(dc_initialize(folder.write("ok.xml", xml()).c_str(), -1) == DC_E_ARGUMENT);
  CHECK(said("client id -1 is negative"));
}

TEST_CASE("unknown names are refused with the nearest known one") {
  Session session;
  CHECK(dc_write("heigt", 0, kFour) == DC_E_UNKNOWN_NAME);
  CHECK(said("no variable 'heigt' in "));
  CHECK(said("did you mean 'height'?"));
  CHECK(dc_signal("tock", 0) == DC_E_UNKNOWN_NAME);
  CHECK(said("no event 'tock'"));
  CHECK(dc_set_parameter("q", 1) == DC_E_UNKNOWN_NAME);
  CHECK(said("no parameter 'q'"));
  std::int64_t list[1] = {1};
  CHECK(dc_set_shape("lime", 1, list) == DC_E_UNKNOWN_NAME);
  CHECK(said("did you mean 'line'?"));
}

TEST_CASE("reading without a storage that can is refused with the remedy") {
  Session session;
  int four[4] = {7, 7, 7, 7};
  CHECK(dc_read("height", 0, four) == DC_E_CONFIG);
  CHECK(said("say <storage><hdf5 restart=.../></storage>"));
  CHECK(four[0] == 7);
  std::int64_t step = 7;
  CHECK(dc_last_step(nullptr, &step) == DC_E_CONFIG);
  CHECK(step == 7);
  CHECK(dc_read("heigt", 0, four) == DC_E_UNKNOWN_NAME);
  CHECK(said("did you mean 'height'?"));
  CHECK(dc_last_step("heigt", &step) == DC_E_UNKNOWN_NAME);
}

TEST_CASE("null pointers are refused by name") {
  Session session;
  CHECK(dc_read(nullptr, 0, nullptr) == DC_E_ARGUMENT);
  CHECK(said() == "dc_read: argument `variable` is NULL");
  CHECK(dc_read("height", 0, nullptr) == DC_E_ARGUMENT);
  CHECK(said() == "argument `data` for 'height' is NULL");
  CHECK(dc_last_step("height", nullptr) == DC_E_ARGUMENT);
  CHECK(said() == "dc_last_step: argument `step` is NULL");
  CHECK(dc_write(nullptr, 0, kFour) == DC_E_ARGUMENT);
  CHECK(said() == "dc_write: argument `variable` is NULL");
  CHECK(dc_write("height", 0, nullptr) == DC_E_ARGUMENT);
  CHECK(said() == "argument `data` for 'height' is NULL");
  CHECK(dc_alloc("height", 0, 0, nullptr) == DC_E_ARGUMENT);
  CHECK(dc_variable("height", nullptr) == DC_E_ARGUMENT);
  CHECK(dc_write_to(nullptr, 0, kFour) == DC_E_ARGUMENT);
  CHECK(said("the handle is not one of this session"));
  CHECK(dc_status(nullptr) == DC_E_ARGUMENT);
  CHECK(dc_signal(nullptr, 0) == DC_E_ARGUMENT);
  CHECK(dc_set_shape("line", 1, nullptr) == DC_E_ARGUMENT);
}

TEST_CASE("a handle of an earlier session is refused") {
  dc_variable_t* handle = nullptr;
  {
    Session session;
    REQUIRE(dc_variable("height", &handle) == DC_OK);
    CHECK(dc_write_to(handle, 0, kFour) == DC_OK);
  }
  CHECK(dc_write_to(handle, 0, kFour) == DC_E_NOT_INITIALIZED);
}

TEST_CASE("a wrong element type is refused by the typed call") {
  Session session;
  const double wrong[4] = {};
  CHECK(dc_write_typed("height", 0, 0, DC_FLOAT64, wrong, 0, nullptr, nullptr) == DC_E_TYPE);
  CHECK(said("'height' holds int32"));
  CHECK(said("the array holds real64"));
  CHECK(dc_write_typed("height", 0, 0, DC_INT32, kFour, 0, nullptr, nullptr) == DC_OK);
}

TEST_CASE("commit without alloc, and alloc without commit") {
  Session session;
  CHECK(dc_commit("height", 0, 0) == DC_E_NOT_ALLOCATED);
  CHECK(said("nothing was allocated (dc_alloc of the same variable, step and block comes first)"));
  void* data = nullptr;
  REQUIRE(dc_alloc("height", 0, 0, &data) == DC_OK);
  CHECK(dc_commit("height", 1, 0) == DC_E_NOT_ALLOCATED);
  CHECK(session.finalize() == DC_E_NOT_COMMITTED);
  CHECK(said("allocated but never committed, so cancelled: 'height' block 0 of step 0; call dc_commit before the step ends"));
}

TEST_CASE("a second write of the same block, and a step that goes backward") {
  Session session;
  CHECK(dc_write("height", 3, kFour) == DC_OK);
  CHECK(dc_write("height", 3, kFour) == DC_E_DUPLICATE);
  CHECK(said("'height' block 0 was already written in step 3"));
  CHECK(dc_write_block("height", 3, -1, kFour) == DC_E_ARGUMENT);
  CHECK(dc_write("height", 2, kFour) == DC_E_BACKWARD);
  CHECK(said("step 2 comes after step 3"));
  CHECK(dc_end_iteration(3) == DC_OK);
  CHECK(dc_write("height", 3, kFour) == DC_E_BACKWARD);
  CHECK(dc_end_iteration(3) == DC_E_BACKWARD);
  CHECK(said("step 3 has already ended"));
  CHECK(dc_flush(4, 10) == DC_E_NOT_ENDED);
  CHECK(said("call dc_end_iteration(4) first"));
  CHECK(dc_flush(3, -1) == DC_E_ARGUMENT);
}

TEST_CASE("a dataset larger than the buffer, and a step larger than it, are refused at once") {
  Session session;
  const std::vector<double> huge(100'000);
  REQUIRE(dc_set_parameter("m", 100'000) == DC_OK);
  void* data = nullptr;
  CHECK(dc_alloc("huge", 0, 0, &data) == DC_E_TOO_LARGE);
  CHECK(data == nullptr);
  CHECK(dc_write("huge", 0, huge.data()) == DC_E_TOO_LARGE);
  CHECK(said("'huge' is 800000 bytes in step 0"));
  int code = DC_OK;
  for (int block = 0; code == DC_OK; ++block) code = dc_write_block("height", 0, block, kFour);
  CHECK(code == DC_E_ITERATION_TOO_LARGE);
  CHECK(said("step 0 of client 0 is too large for "));
  CHECK(said("give <buffer size=...> at least 1MiB in "));
  CHECK(dc_end_iteration(0) == DC_OK);
  CHECK(dc_write("height", 1, kFour) == DC_OK);
}

TEST_CASE("in place a full lane is emptied by the call that finds it so, also with a time-out of nothing") {
  Session session(
      "<simulation name='usage'><architecture><dedicated cores='0'/><buffer timeout='0s'/><lanes events='16'/></architecture>"
      "<data><layout name='line' type='int' dimensions='4'/><variable name='height' layout='line'/></data></simulation>");
  for (int block = 0; block < 40; ++block) CHECK(dc_write_block("height", 0, block, kFour) == DC_OK);
  CHECK(dc_end_iteration(0) == DC_OK);
  CHECK(dc_flush(0, 0) == DC_OK);
  CHECK(session.finalize() == DC_OK);
}

TEST_CASE("a variable that is switched off is a notice") {
  Session session;
  CHECK(dc_write("quiet", 0, kFour) == DC_N_DISABLED);
  void* data = nullptr;
  CHECK(dc_alloc("quiet", 0, 0, &data) == DC_N_DISABLED);
}

TEST_CASE("rule 5: without MPI global scope is a configuration error, in place and for a detached server") {
  const std::string event = "<actions><event name='all' action='f' using='f.so' scope='global'/></actions></simulation>";
  const std::string layout = "<data><layout name='line' type='int' dimensions='4'/><variable name='height' layout='line'/></data>";
  CHECK(initialize("<simulation name='g'><architecture><dedicated cores='0'/></architecture>" + layout + event) == DC_E_CONFIG);
  CHECK(said("global"));
  CHECK(said("MPI"));
}

TEST_CASE("an output folder that is missing, or is none, is found at start-up", "[hdf5]") {
  const TempFolder folder;
  CHECK(initialize(xml("<storage><hdf5 basename='" + folder.file("missing/run") + "'/></storage>")) == DC_E_NO_OUTPUT);
  CHECK(said(folder.file("missing")));
  folder.write("file", "");
  CHECK(initialize(xml("<storage><hdf5 basename='" + folder.file("file/run") + "'/></storage>")) == DC_E_NO_OUTPUT);
}

TEST_CASE("parameters and shapes are checked") {
  Session session;
  CHECK(dc_set_parameter("fixed", 5) == DC_E_ARGUMENT);
  CHECK(dc_set_parameter("n", 1LL << 40) == DC_E_ARGUMENT);
  CHECK(said("cannot hold 1099511627776"));
  CHECK(dc_set_parameter("n", 2) == DC_OK);
  std::int64_t n = 0;
  CHECK(dc_get_parameter("n", &n) == DC_OK);
  CHECK(n == 2);
  dc_layout_t layout;
  REQUIRE(dc_get_layout("height", &layout) == DC_OK);
  CHECK(layout.ndims == 1);
  CHECK(layout.extents[0] == 2);
  CHECK(layout.bytes == 8);
  const std::int64_t list[2] = {1, 1};
  CHECK(dc_set_shape("height", 2, list) == DC_E_SHAPE);
  CHECK(said("'height' has 1 dimensions, the call gives 2"));
}

TEST_CASE("every code has a text, and dc_last_error is of the calling thread") {
  for (const int code : {DC_OK,
                         DC_N_DISABLED,
                         DC_N_NOT_DUE,
                         DC_E_NOT_INITIALIZED,
                         DC_E_ALREADY_INITIALIZED,
                         DC_E_ARGUMENT,
                         DC_E_UNKNOWN_NAME,
                         DC_E_TYPE,
                         DC_E_SHAPE,
                         DC_E_DUPLICATE,
                         DC_E_BACKWARD,
                         DC_E_NOT_ALLOCATED,
                         DC_E_NOT_COMMITTED,
                         DC_E_NOT_ENDED,
                         DC_E_NO_MPI,
                         DC_E_THREADS,
                         DC_E_CONFIG,
                         DC_E_CONFIG_MISMATCH,
                         DC_E_PLACEMENT,
                         DC_E_STALE_REGION,
                         DC_E_REGION_IN_USE,
                         DC_E_VERSION,
                         DC_E_TOO_LARGE,
                         DC_E_ITERATION_TOO_LARGE,
                         DC_E_FULL,
                         DC_E_SHM,
                         DC_E_MEMORY,
                         DC_E_TIMEOUT,
                         DC_E_IO,
                         DC_E_EARLIER_IO,
                         DC_E_NO_OUTPUT,
                         DC_E_NOT_STORED,
                         DC_E_PLUGIN,
                         DC_E_SERVER_LOST,
                         DC_E_CLIENT_LOST,
                         DC_E_STOPPED,
                         DC_E_INTERNAL})
    CHECK(std::string(dc_strerror(code)).find("unknown code") == std::string::npos);
  CHECK(std::strlen(dc_strerror(12345)) > 0);
}

}  // namespace
