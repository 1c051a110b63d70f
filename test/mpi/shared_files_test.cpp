// What two servers make of a file that they write together: how much of the disk it takes, and which datasets stand in it.
#include <sys/stat.h>

#include <set>

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

TEST_CASE("a server that had no data of the first steps does not take their files for those of an earlier run") {
  SharedRun run("exists='overwrite'");
  const int late = GENERATE(0, 1);
  if (run.start()) {
    for (const int step : {0, 1}) {
      if (step == 1 || run.rank() != late) run.write(step);
      CHECK(run.end(step).empty());
    }
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0)
    CHECK_THAT(run.verified(), Catch::Contains("2 steps, 2 files, ") && Catch::Contains(": all as recorded"));
}

TEST_CASE("servers write a file together under a name with a ':', before which MPI-IO expects the name of a file system") {
  SharedRun run(GENERATE("", "filters='deflate:1'"), "size='16MiB'", "global='2*n'", GENERATE("run_12:00", "ufs:run"));
  if (run.start()) {
    run.write(0);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) == 0) CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

TEST_CASE("elements too large for a fill value in the header of their dataset are stored, and so are the other variables") {
  SharedRun run(GENERATE("", "filters='deflate:1'"));
  if (run.start()) {
    const std::vector<double> one(8192, run.rank() + 0.5);
    const std::int64_t place = 2 * run.rank();  // between them is a hole
    CHECK(dc_set_position("row", 1, &place) == DC_OK);
    CHECK(dc_write("y", 0, one.data()) == DC_OK);
    run.write(0);
    CHECK(run.end(0).empty());
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  CHECK(run.record(0).at("complete") == true);
  CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
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
    CHECK(std::set<std::string>{datasets[0].at("path"), datasets[1].at("path")} == std::set<std::string>{"x/0", "x/1"});
  }
  CHECK_THAT(run.verified(), Catch::Contains(": all as recorded"));
}

TEST_CASE(
    "two servers with other values for one place: the step is partial, and all clients hear of it; the same values are none lost") {
  const bool other_values = GENERATE(true, false);
  const std::string sentence =
      "'x': client 1 (block 1) and client 0 (block 1) both wrote the elements (16) to (31); those of client 1 "
      "(block 1) differ and are not stored";
  SharedRun run;
  if (run.start()) {
    for (const int step : {0, 1}) {
      write(step, 0, 0, 3);  // of these nothing is lost, whatever follows
      write(step, 1, 16, other_values ? run.rank() : 3);
      const std::string said = run.end(step);
      if (other_values)
        CHECK_THAT(said, Catch::Contains(sentence));
      else
        CHECK(said.empty());
    }
    CHECK(dc_finalize() == DC_OK);
  }
  run.job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  for (const int step : {0, 1}) CHECK(run.record(step).at("complete") == !other_values);
  CHECK_THAT(run.verified(), Catch::Contains(other_values ? sentence : ": all as recorded"));
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
      if (pinned != 0) CHECK(pinned >= 3 + 3);  // work, intake and log; three that compress
      CHECK(dc_finalize() == DC_OK);
      MPI_Comm_free(&started.clients);
    }
  }
  job.together();
}

}  // namespace
}  // namespace damaris::test
