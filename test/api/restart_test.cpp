// Going on from an earlier run through the C interface, in place: one run stores, another one reads. No MPI, no server process.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

bool said(const std::string& part) {
  INFO(dc_last_error());
  CHECK(std::string(dc_last_error()).find(part) != std::string::npos);
  return true;
}

// A tile of n rows with a ghost column at its left, in a global array of 8 rows; particles and a compound type without a place.
const char* const kData =
    "<parameter name='n' type='int' value='4'/><parameter name='p' type='int' value='3'/>"
    "<type name='cell'><field name='id' type='int'/><field name='at' type='double' count='2'/></type>"
    "<layout name='tile' type='float' dimensions='n,5' global='8,4' ghost='0:0,1:0'/>"
    "<layout name='list' type='double' dimensions='p'/><layout name='cells' type='cell' dimensions='2'/>"
    "<variable name='theta' layout='tile'/><variable name='particles' layout='list'/><variable name='cells' layout='cells'/>"
    "<variable name='rare' layout='list' every='2'/>";

class Session {
 public:
  // Client `id` of a run that writes to `basename`; `more` are attributes of <hdf5>, `architecture` stands inside that element.
  Session(const TempFolder& folder, int id, const std::string& basename, const std::string& more = "",
          const std::string& architecture = "", const std::string& buffer = "64KiB") {
    const std::string xml = "<simulation name='restart'><architecture><dedicated cores='0'/><buffer size='" + buffer + "'/>" +
                            architecture + "</architecture><data>" + std::string(kData) + "</data><storage><hdf5 basename='" +
                            folder.file(basename) + "' " + more + "/></storage></simulation>";
    code = dc_initialize(folder.write("restart.xml", xml).c_str(), id);
  }
  ~Session() {
    if (code == DC_OK) CHECK(dc_finalize() == DC_OK);
  }
  int code;
};

std::string from(const TempFolder& folder, const std::string& basename) { return "restart='" + folder.file(basename) + "'"; }

std::vector<float> tile(float first) {
  std::vector<float> values(20);
  std::iota(values.begin(), values.end(), first);
  return values;
}

struct Cell {
  int id;
  double at[2];
};

void at_row(std::int64_t row) {
  const std::int64_t offsets[] = {row, 0};
  REQUIRE(dc_set_position("theta", 2, offsets) == DC_OK);
}

// Steps 0 to 3 of an earlier run of two blocks, one above the other.
void store_earlier(const TempFolder& folder) {
  const Session session(folder, 0, "earlier");
  REQUIRE(session.code == DC_OK);
  for (int step = 0; step < 4; ++step) {
    at_row(0);
    CHECK(dc_write("theta", step, tile(static_cast<float>(100 * step)).data()) == DC_OK);
    at_row(4);
    CHECK(dc_write_block("theta", step, 1, tile(static_cast<float>(100 * step + 20)).data()) == DC_OK);
    const double particles[] = {0.1 * step, -0.0, std::numeric_limits<double>::denorm_min()};
    CHECK(dc_write("particles", step, particles) == DC_OK);
    CHECK(dc_write("rare", step, particles) >= DC_OK);
    const Cell cells[] = {{step, {1.5, 2.5}}, {-step, {3.5, 4.5}}};
    CHECK(dc_write("cells", step, cells) == DC_OK);
    CHECK(dc_end_iteration(step) == DC_OK);
  }
}

TEST_CASE("a client in place may have any id, and a run that goes on under it replaces what it stores anew") {
  const TempFolder folder;
  const int id = GENERATE(1'000'000, std::numeric_limits<int>::max());
  const auto store = [&](int from_step, int to_step, double first) {
    const Session session(folder, id, "storm", "exists='append'");
    REQUIRE(session.code == DC_OK);
    for (int step = from_step; step < to_step; ++step) {
      const double particles[] = {first, 2, 3};
      CHECK(dc_write("particles", step, particles) == DC_OK);
      CHECK(dc_end_iteration(step) == DC_OK);
    }
  };
  store(0, 4, 1);
  store(2, 3, 100);
  const Session session(folder, id, "later", from(folder, "storm"));
  REQUIRE(session.code == DC_OK);
  std::int64_t last = -1;
  CHECK(dc_last_step(nullptr, &last) == DC_OK);
  CHECK(last == 2);
  double particles[3];
  REQUIRE(dc_read("particles", 2, particles) == DC_OK);
  CHECK(particles[0] == 100);
  REQUIRE(dc_read("particles", 1, particles) == DC_OK);
  CHECK(particles[0] == 1);
}

TEST_CASE("a run goes on from what an earlier one stored, cut in another way, and every bit is as it was") {
  const TempFolder folder;
  store_earlier(folder);
  const Session session(folder, 0, "later", from(folder, "earlier"));
  REQUIRE(session.code == DC_OK);
  std::int64_t step = -1;
  REQUIRE(dc_last_step(nullptr, &step) == DC_OK);
  CHECK(step == 3);
  REQUIRE(dc_last_step("rare", &step) == DC_OK);
  CHECK(step == 2);

  REQUIRE(dc_set_parameter("n", 6) == DC_OK);
  at_row(1);
  std::vector<float> values(30, -1.0F);
  REQUIRE(dc_read("theta", 3, values.data()) == DC_OK);
  for (std::size_t row = 0; row < 6; ++row) {
    CHECK(values[row * 5] == -1.0F);  // the ghost zone
    for (std::size_t column = 1; column < 5; ++column)
      CHECK(values[row * 5 + column] == 300 + static_cast<float>((row + 1) * 5 + column));
  }
  double particles[3];
  REQUIRE(dc_read("particles", 2, particles) == DC_OK);
  CHECK(particles[0] == 0.1 * 2);
  CHECK(std::signbit(particles[1]));
  CHECK(particles[2] == std::numeric_limits<double>::denorm_min());
  Cell cells[2];
  REQUIRE(dc_read("cells", 3, cells) == DC_OK);
  CHECK(cells[1].id == -3);
  CHECK(cells[1].at[1] == 4.5);
}

TEST_CASE("an array larger than the buffer comes back bit for bit, as it was stored or reduced, also from a stack of blocks") {
  const TempFolder folder;
  const std::string more = GENERATE("", "reduce='deflate'");
  std::vector<double> values(40'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sqrt(static_cast<double>(i)) * (i % 2 == 0 ? 1 : -1);
  {
    const Session session(folder, 0, "earlier", more, "", "4MiB");
    REQUIRE(session.code == DC_OK);
    REQUIRE(dc_set_parameter("p", static_cast<std::int64_t>(values.size())) == DC_OK);
    CHECK(dc_write("particles", 0, values.data()) == DC_OK);
    CHECK(dc_write("rare", 0, values.data()) == DC_OK);
    std::reverse(values.begin(), values.end());
    CHECK(dc_write_block("particles", 0, 1, values.data()) == DC_OK);
    CHECK(dc_end_iteration(0) == DC_OK);
  }
  const Session session(folder, 0, "later", from(folder, "earlier"));
  REQUIRE(session.code == DC_OK);
  REQUIRE(dc_set_parameter("p", static_cast<std::int64_t>(values.size())) == DC_OK);
  std::vector<double> read(values.size(), -1);
  REQUIRE(dc_read_block("particles", 0, 1, read.data()) == DC_OK);
  CHECK(std::memcmp(read.data(), values.data(), values.size() * sizeof(double)) == 0);
  std::reverse(values.begin(), values.end());
  REQUIRE(dc_read("rare", 0, read.data()) == DC_OK);
  CHECK(std::memcmp(read.data(), values.data(), values.size() * sizeof(double)) == 0);
  REQUIRE(dc_set_parameter("p", static_cast<std::int64_t>(values.size() - 1)) == DC_OK);
  CHECK(dc_read("rare", 0, read.data()) == DC_E_SHAPE);
  said("(40000), but the client requests (39999)");
  dc_status_t status;
  REQUIRE(dc_status(&status) == DC_OK);
  CHECK(status.buffer_used_bytes == 0);
}

TEST_CASE("reading neither opens nor ends a step, and writing goes on beside it") {
  const TempFolder folder;
  store_earlier(folder);
  const Session session(folder, 0, "later", from(folder, "earlier"));
  REQUIRE(session.code == DC_OK);
  double particles[3];
  for (int step = 1; step < 3; ++step) {
    REQUIRE(dc_read("particles", 3, particles) == DC_OK);
    CHECK(dc_write("particles", step, particles) == DC_OK);
    REQUIRE(dc_read("particles", 0, particles) == DC_OK);
    CHECK(dc_write_block("particles", step, 1, particles) == DC_OK);
    CHECK(dc_end_iteration(step) == DC_OK);
  }
  dc_status_t status;
  REQUIRE(dc_status(&status) == DC_OK);
  CHECK(status.last_durable == 2);
  CHECK(status.buffer_used_bytes == 0);
}

TEST_CASE("a run may go on under its own name when it appends") {
  const TempFolder folder;
  store_earlier(folder);
  {
    const Session refused(folder, 0, "earlier", from(folder, "earlier"));
    CHECK(refused.code == DC_E_CONFIG);
    said("it is the basename of this run, which overwrites the earlier run");
  }
  double particles[3] = {};
  {
    const Session session(folder, 0, "earlier", "exists='append' " + from(folder, "earlier"));
    REQUIRE(session.code == DC_OK);
    REQUIRE(dc_read("particles", 2, particles) == DC_OK);
    particles[0] = 42;
    CHECK(dc_write("particles", 3, particles) == DC_OK);
    CHECK(dc_end_iteration(3) == DC_OK);
    CHECK(dc_read("particles", 2, particles) == DC_OK);
    CHECK(dc_read("particles", 3, particles) == DC_E_NOT_STORED);
    said("was replaced: this run has stored steps from 3 on");
    std::int64_t step = -1;
    CHECK(dc_last_step("particles", &step) == DC_OK);
    CHECK(step == 2);
  }
  const Session third(folder, 0, "third", from(folder, "earlier"));
  REQUIRE(third.code == DC_OK);
  REQUIRE(dc_read("particles", 3, particles) == DC_OK);
  CHECK(particles[0] == 42);
  REQUIRE(dc_read("particles", 1, particles) == DC_OK);
  CHECK(particles[0] == 0.1);
}

TEST_CASE("several threads of a process in place read at once") {
  const TempFolder folder;
  store_earlier(folder);
  const Session session(folder, 0, "later", from(folder, "earlier"), "<clients threads='4'/>");
  REQUIRE(session.code == DC_OK);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; ++round) {
        double particles[3] = {};
        if (dc_read("particles", thread, particles) != DC_OK || particles[0] != 0.1 * thread) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("what cannot be read is refused with what is there and what was asked for, and the array stays as it was") {
  const TempFolder folder;
  store_earlier(folder);
  const Session session(folder, 1, "later", from(folder, "earlier"));
  REQUIRE(session.code == DC_OK);
  std::vector<float> values(20, -1.0F);
  double particles[3] = {7, 7, 7};
  at_row(4);
  CHECK(dc_read("theta", 9, values.data()) == DC_E_NOT_STORED);
  said("'theta' of step 9 is not in " + folder.file("earlier") + ": the nearest steps stored are 3");
  CHECK(dc_read("rare", 1, particles) == DC_E_NOT_STORED);
  said("the variable was not stored in that step");
  CHECK(dc_read("particles", 1, particles) == DC_E_NOT_STORED);
  said("block 0 of client 1 is not among what was stored");
  CHECK(dc_read("thetta", 1, values.data()) == DC_E_UNKNOWN_NAME);
  CHECK(dc_read_typed("theta", 1, 0, DC_FLOAT64, values.data(), 0, nullptr, nullptr) == DC_E_TYPE);
  for (const float value : values) CHECK(value == -1.0F);
  CHECK(particles[0] == 7);
}

TEST_CASE("an array of another shape than the stored one is refused, naming both") {
  const TempFolder folder;
  store_earlier(folder);
  const Session session(folder, 0, "later", from(folder, "earlier"));
  REQUIRE(session.code == DC_OK);
  REQUIRE(dc_set_parameter("p", 4) == DC_OK);
  double particles[4];
  CHECK(dc_read("particles", 1, particles) == DC_E_SHAPE);
  said("it was stored with the extents (3), but the client requests (4)");
}

TEST_CASE("a run that is missing, and one whose record is damaged, are named") {
  const TempFolder folder;
  store_earlier(folder);
  double particles[3];
  std::int64_t step = 7;
  {
    const Session session(folder, 0, "later", from(folder, "nobody"));
    REQUIRE(session.code == DC_OK);
    CHECK(dc_read("particles", 1, particles) == DC_E_NOT_STORED);
    said("no run is recorded in " + folder.file("nobody") + ".g*.jsonl");
    CHECK(dc_last_step(nullptr, &step) == DC_E_NOT_STORED);
    CHECK(step == 7);
  }
  {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (entry.path().filename().string().rfind("earlier.g1.", 0) == 0)
        std::ofstream(entry.path(), std::ios::app) << "{\"step\": 4,\n";
    const Session session(folder, 0, "later", from(folder, "earlier"));
    REQUIRE(session.code == DC_OK);
    CHECK(dc_read("particles", 1, particles) == DC_E_IO);  // a run that stored it anew may be in that line
    said("this line is damaged: its checksum");
    CHECK(dc_read("particles", 4, particles) == DC_E_NOT_STORED);
    said("it may be in a damaged record");
    CHECK(dc_last_step(nullptr, &step) == DC_E_IO);
  }
}

TEST_CASE("without restart in the XML a read says what to write there") {
  const TempFolder folder;
  const Session session(folder, 0, "later");
  REQUIRE(session.code == DC_OK);
  double particles[3];
  CHECK(dc_read("particles", 1, particles) == DC_E_CONFIG);
  said("<hdf5 restart=\"out/storm\"/>");
}

}  // namespace
