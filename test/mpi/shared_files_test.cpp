// What two servers make of a file that they write together: how much of the disk it takes, and which datasets stand in it.
#include <sys/stat.h>

#include <cmath>

#include "shared_run.hpp"

namespace damaris::test {
namespace {

// 16 numbers at a place.
void write(int step, int block, std::int64_t place, double value) {
  const std::vector<double> values(16, value);
  REQUIRE(dc_set_position("line", 1, &place) == DC_OK);
  CHECK(dc_write_block("x", step, block, values.data()) == DC_OK);
}

TEST_CASE("a chunked file of several servers keeps nothing of the space that was reserved for its values") {
  const bool placed = GENERATE(true, false);
  const std::string settings = GENERATE("filters='shuffle,deflate:1'", "reduce='relative:0.01,deflate'");
  INFO(settings << (placed ? ", one array" : ", a dataset for each block"));
  SharedRun run(settings, "size='32MiB'", placed ? "global='2*n'" : "");
  if (run.start()) {
    const std::int64_t count = placed ? 500'000 : 20'000, place = run.rank() * count;
    const std::vector<double> zeros(static_cast<std::size_t>(count));
    REQUIRE(dc_set_parameter("n", count) == DC_OK);
    if (placed) REQUIRE(dc_set_position("line", 1, &place) == DC_OK);
    for (int block = 0; block < (placed ? 1 : 20); ++block) CHECK(dc_write_block("x", 0, block, zeros.data()) == DC_OK);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  struct stat facts = {};
  REQUIRE(::stat((run.out + "/storm.i0.h5").c_str(), &facts) == 0);
  CHECK(facts.st_blocks * 512 < facts.st_size + 64 * 1024);
}

TEST_CASE("servers write a file together in a working folder whose name is not UTF-8") {
  SharedRun run("", "size='16MiB'", "global='2*n'", "\xff\xfe");
  const std::filesystem::path before = std::filesystem::current_path();
  run.job.together();  // the folder is there
  std::filesystem::current_path(std::filesystem::path(run.out).parent_path());
  if (run.start()) {
    run.write(0);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  std::filesystem::current_path(before);
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

TEST_CASE("a position far from all others costs no variable its file: its blocks are stored one by one") {
  const std::int64_t far = GENERATE(std::int64_t{400'000'000'000'000}, std::int64_t{4'000'000'000'000'000'000});
  SharedRun run("", "size='16MiB'", "");  // where the whole is declared, the write refuses such a position
  if (run.start()) {
    for (const int step : {0, 1}) {
      write(step, 0, run.rank() == 1 ? far : 0, 3);
      CHECK(run.end(step).empty());
    }
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  for (const int step : {0, 1}) {
    const Json line = run.record(step);
    CHECK(line.at("complete") == true);
    const Json datasets = line.at("files").at(0).at("datasets");
    REQUIRE(datasets.size() == 2);
    CHECK(datasets[0].at("path") == "x/0");
    CHECK(datasets[1].at("path") == "x/1");
  }
  CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

TEST_CASE(
    "two servers with other values for one place: the manifest names the block that is not stored; the same values are none lost") {
  const bool other_values = GENERATE(true, false);
  SharedRun run;
  if (run.start()) {
    for (const int step : {0, 1}) {
      write(step, 0, 0, 3);  // of these nothing is lost, whatever follows
      write(step, 1, 16, other_values ? run.rank() : 3);
      CHECK(run.end(step).empty());
    }
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  const Json first = run.record(0);
  CHECK(first.contains("warnings") == other_values);
  if (other_values)
    CHECK_THAT(
        first.at("warnings").at(0).get<std::string>(),
        Catch::Contains("'x' of client 1 (block 1) has the place of block 1 of client 0, and its different values are not stored"));
  CHECK_FALSE(run.record(1).contains("warnings"));  // once a variable
}

// Of a variable without elements, at a place; its values are read in the same way.
void be_empty(std::int64_t place) {
  REQUIRE(dc_set_parameter("n", 0) == DC_OK);
  REQUIRE(dc_set_position("line", 1, &place) == DC_OK);
}

TEST_CASE("a step in which no client has elements of a variable can be read again, as from files of single servers") {
  const std::string whole = GENERATE("", "global='16'"), filters = GENERATE("", " filters='deflate:1'");
  SharedRun run(filters, "size='16MiB'", whole);
  double nothing = 0;
  if (run.start()) {
    be_empty(run.rank() == 0 ? 8 : 0);
    CHECK(dc_write("x", 0, &nothing) == DC_OK);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
  SharedRun next("restart='" + run.out + "/storm'", "size='16MiB'", whole);
  if (next.start()) {
    be_empty(next.rank() == 0 ? 8 : 0);
    std::int64_t step = -1;
    CHECK(dc_last_step("x", &step) == DC_OK);
    CHECK(step == 0);
    CHECK(dc_read("x", 0, &nothing) == DC_OK);
    CHECK(dc_finalize() == DC_OK);
  }
  next.job.together();
}

// 16 numbers from `first` on, `by` apart, at this client's place.
std::vector<double> write_numbers(const SharedRun& run, std::int64_t step, double first, double by) {
  std::vector<double> values(16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + by * static_cast<double>(i);
  const std::int64_t place = 16 * run.rank();
  REQUIRE(dc_set_position("line", 1, &place) == DC_OK);
  CHECK(dc_write("x", step, values.data()) == DC_OK);
  return values;
}

TEST_CASE("16 bits in a file of several servers have one scale for all of their values, and are read again") {
  const std::string reduce = GENERATE("float16", "float16,zstd:3", "float16,deflate");
  SharedRun run("reduce='" + reduce + "'");
  std::vector<double> mine;
  if (run.start()) {
    mine = write_numbers(run, 0, run.rank() == 0 ? 1 : 1e6, run.rank() == 0 ? 0.25 : 500);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  double error = 0;
  if (rank_in(MPI_COMM_WORLD) == 0) {
    const Json datasets = run.record(0).at("files").at(0).at("datasets");
    REQUIRE(datasets.size() == 2);
    CHECK(datasets[0].at("scale") == datasets[1].at("scale"));
    CHECK(datasets[0].at("offset") == datasets[1].at("offset"));
    error = std::max(datasets[0].at("largest_error").get<double>(), datasets[1].at("largest_error").get<double>());
    CHECK(error < 1000);
    CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
  }
  MPI_Bcast(&error, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  SharedRun next("restart='" + run.out + "/storm'");
  if (next.start()) {
    const std::int64_t place = 16 * next.rank();
    REQUIRE(dc_set_position("line", 1, &place) == DC_OK);
    std::vector<double> read(16);
    CHECK(dc_read("x", 0, read.data()) == DC_OK);
    for (std::size_t i = 0; i < read.size(); ++i) CHECK(std::abs(read[i] - mine[i]) <= error);
    CHECK(dc_finalize() == DC_OK);
  }
  next.job.together();
}

TEST_CASE("values of one server that overflow a given scale are refused by all, and only that dataset is missing") {
  const bool is_alone = GENERATE(true, false);
  SharedRun run("reduce='float16:0.001:0,deflate'");
  if (run.start()) {
    for (const int step : {0, 1, 2}) {
      write_numbers(run, step, step == 1 && run.rank() == 1 ? 1e6 : 1, 0.25);
      if (!is_alone) CHECK(dc_write("note", step, &step) == DC_OK);
      const std::string said = run.end(step);
      if (step != 1) CHECK(said.empty());
      if (step == 1) CHECK_THAT(said, Catch::Contains("'x' holds values from 1 to 1e+06, which overflow 16 bits"));
    }
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  const Json step = run.record(1);
  CHECK(step.at("complete") == false);
  CHECK(step.at("failures").size() == 1);
  CHECK(step.at("files").size() == (is_alone ? 0 : 1));
  if (!is_alone) CHECK(step.at("files")[0].at("datasets")[0].at("variable") == "note");
  for (const int other : {0, 2}) CHECK(run.record(other).at("complete") == true);
  CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

TEST_CASE("what the XML asks of the file system and of MPI-IO is in the line of the run, and costs no step") {
  SharedRun run("alignment='1MiB' stripe-count='2' mpi-hints='cb_nodes=1; no_such_hint=7'");
  if (run.start()) {
    run.write(0, 100'000);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  std::ifstream file(run.out + "/storm.jsonl");
  std::string line;
  std::getline(file, line);
  const Json asked = Json::parse(line).at("storage");
  CHECK(asked == Json{{"alignment", "1048576"}, {"mpi-hints", "cb_nodes=1;no_such_hint=7"}, {"stripe-count", "2"}});
  CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

// How many threads of process `pid` may run where its first one may; 0 if that is on every processor.
int threads_on_its_core(int pid) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto processors_of = [](const std::filesystem::path& task) {
    std::ifstream status(task / "status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind("Cpus_allowed_list:", 0) == 0) return line;
    return std::string();
  };
  const std::string mine = processors_of(tasks / std::to_string(pid));
  if (mine == processors_of("/proc/self")) return 0;
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator(tasks)) count += processors_of(task.path()) == mine ? 1 : 0;
  return count;
}

TEST_CASE("the threads that compress run on the server's core, as all of its own do") {
  Job job(2);
  int pids[2] = {};
  if (job.member()) {
    const int mine = static_cast<int>(::getpid());
    MPI_Allgather(&mine, 1, MPI_INT, pids, 1, MPI_INT, job.world());
    const std::string storage = "<storage><hdf5 basename='" + job.file("storm") + "' filters='deflate:1' threads='4'/></storage>";
    Started started = job.start(xml(1, storage));
    INFO(started.sentence);
    REQUIRE(started.code == DC_OK);
    if (started.is_client == 1) {
      const std::vector<double> data(16, 1.0);
      CHECK(dc_write("x", 0, data.data()) == DC_OK);
      CHECK(dc_end_iteration(0) == DC_OK);
      CHECK(dc_flush(0, 20'000) == DC_OK);
      const int pinned = threads_on_its_core(pids[1]);
      if (pinned == 0) WARN("the server is not pinned here: fewer processors than ranks");
      if (pinned != 0) CHECK(pinned >= 4 + 3);  // work, intake, watchdog and log; three that compress
      CHECK(dc_finalize() == DC_OK);
      MPI_Comm_free(&started.clients);
    }
  }
  job.together();
}

}  // namespace
}  // namespace damaris::test
