// Starts that cannot be: the same code and sentence on every rank, no rank waits, nothing stays in /dev/shm, a second try works.
#include "job.hpp"

namespace damaris::test {
namespace {

// Every rank of `job` failed alike, and what is left allows a good start.
void check_refused(const Job& job, const Started& started, int code, const std::string& part) {
  CHECK(started.code == code);
  CHECK(started.clients == MPI_COMM_NULL);
  CHECK(same_on_all(job.world(), std::to_string(started.code)) == std::to_string(code));
  CHECK_THAT(same_on_all(job.world(), started.sentence), Catch::Contains(part));
  wait_for_all(job.world());
  CHECK(job.regions().empty());
  ::setenv("DAMARIS_RANKS_PER_NODE", "99", 1);
  const Started again = job.start(xml(1));
  INFO(again.sentence);
  REQUIRE(again.code == DC_OK);
  if (again.is_client != 0) CHECK(dc_finalize() == DC_OK);
}

void check_refused(int ranks, const std::string& nodes, const std::string& text, int code, const std::string& part) {
  Job job(ranks, nodes);
  if (job.member()) check_refused(job, job.start(text), code, part);
}

std::string output(const std::string& basename) { return "<storage><hdf5 basename='" + basename + "'/></storage>"; }

TEST_CASE("an XML that one rank cannot see is refused on all, and the rank is named") {
  Job job(4, "2");
  if (job.member()) {
    if (job.rank() == 0) job.write("job.xml", xml(1));
    wait_for_all(job.world());
    const Started started = job.start_with(job.file(job.rank() == 2 ? "elsewhere.xml" : "job.xml"));
    check_refused(job, started, DC_E_CONFIG, "rank 2: cannot read the configuration '" + job.file("elsewhere.xml") + "'");
  }
}

TEST_CASE("an XML that no rank can see is refused with its path") {
  Job job(4, "2");
  if (job.member())
    check_refused(job, job.start_with("no/such.xml"), DC_E_CONFIG, "cannot read the configuration 'no/such.xml': No such file");
}

TEST_CASE("an XML with an error is refused on all with the place of the error") {
  check_refused(4, "2", xml(1, "<variable name='y' layout='lin'/>"), DC_E_CONFIG, "did you mean 'line'?");
}

TEST_CASE("a configuration that differs between ranks is refused on all, and the rank is named") {
  Job job(4, "2");
  if (job.member()) {
    const std::string mine = job.rank() == 3 ? "other.xml" : "job.xml";
    if (job.rank() == 0) job.write("job.xml", xml(1));
    if (job.rank() == 3) job.write("other.xml", xml(2));
    wait_for_all(job.world());
    check_refused(job, job.start_with(job.file(mine)), DC_E_CONFIG_MISMATCH,
                  "rank 3 reads a different configuration than rank 0, from " + job.file("other.xml"));
  }
}

TEST_CASE("a null pointer on one rank is refused on all") {
  Job job(4, "4");
  if (job.member()) {
    if (job.rank() == 0) job.write("job.xml", xml(1));
    wait_for_all(job.world());
    Started started;
    started.code = dc_mpi_initialize(job.file("job.xml").c_str(), job.world(), &started.clients,
                                     job.rank() == 2 ? nullptr : &started.is_client);
    started.sentence = dc_last_error();
    check_refused(job, started, DC_E_ARGUMENT, "rank 2: dc_mpi_initialize: arguments `clients` and `is_client`");
  }
}

TEST_CASE("no communicator is refused without waiting for other ranks") {
  Started started;
  CHECK(dc_mpi_initialize("job.xml", MPI_COMM_NULL, &started.clients, &started.is_client) == DC_E_ARGUMENT);
  CHECK(std::string(dc_last_error()) ==
        "dc_mpi_initialize: the communicator is MPI_COMM_NULL; give MPI_COMM_WORLD or a part of it");
}

TEST_CASE("more servers than a node has ranks for are refused, and the node is named") {
  check_refused(4, "4", xml(3), DC_E_PLACEMENT, "node 0 has 4 ranks, too few for 3 dedicated cores");
  check_refused(4, "3,1", xml(1), DC_E_PLACEMENT, "node 1 has 1 rank, too few for 1 dedicated core ");
}

TEST_CASE("a /dev/shm that is too small for the buffer is refused, and the rank of the server is named") {
  Job job(4, "2");
  if (job.member()) {
    const Started started = job.start(xml(1, "", "<buffer size='1048576TiB'/>"));
    CHECK_THAT(started.sentence, Catch::Contains("free in /dev/shm; make <buffer size=...> smaller"));
    check_refused(job, started, DC_E_SHM, "rank 1: region /damaris.");
  }
}

TEST_CASE("in place, a buffer larger than memory is refused") {
  check_refused(3, "", xml(0, "", "<buffer size='1048576TiB'/>"), DC_E_SHM, "cannot map 1 EiB of memory");
}

TEST_CASE("an output folder that is missing is refused with the command that makes it") {
  check_refused(4, "2", xml(1, output("no/such/folder/run")), DC_E_NO_OUTPUT, "create it with: mkdir -p");
  check_refused(3, "", xml(0, output("no/such/folder/run")), DC_E_NO_OUTPUT, "create it with: mkdir -p");
}

TEST_CASE("an output folder below a file is refused") {
  Job job(4, "2");
  if (job.member()) {
    if (job.rank() == 0) job.write("a_file", "");
    wait_for_all(job.world());
    check_refused(job, job.start(xml(1, output(job.file("a_file/run")))), DC_E_NO_OUTPUT,
                  "a part of this path is a file; choose another basename");
  }
}

TEST_CASE("an unknown plugin and an unknown symbol are refused with the line of the XML") {
  check_refused(4, "2", xml(1, "<plugin name='p' using='no_such.so'/>"), DC_E_PLUGIN, "no plugin 'no_such.so'; looked for /");
  check_refused(4, "2", xml(1, "<event name='e' action='recrod' using='damaris_test_recorder.so'/>"), DC_E_PLUGIN,
                "exports no function 'recrod'");
}

TEST_CASE("a plugin that refuses on one server refuses the start on all ranks") {
  check_refused(4, "2", xml(1, "<plugin name='p' using='damaris_test_recorder.so'><setting key='refuse_on' value='1'/></plugin>"),
                DC_E_CONFIG, "rank 3: ");
}

TEST_CASE("a bad list of virtual nodes is refused") {
  Job job(4, "3,many");
  if (job.member()) {
    const Started started = job.start(xml(1));
    check_refused(job, started, DC_E_CONFIG, "DAMARIS_RANKS_PER_NODE='3,many': 'many' is no positive number");
  }
}

TEST_CASE("virtual nodes are read on rank 0, so that ranks cannot disagree") {
  Job job(4, "2");
  if (job.member()) {
    if (job.rank() != 0) ::setenv("DAMARIS_RANKS_PER_NODE", "nonsense", 1);
    const Started started = job.start(xml(1));
    REQUIRE(started.code == DC_OK);
    CHECK(started.is_client == (job.rank() % 2 == 0 ? 1 : 0));
    if (started.is_client != 0) CHECK(dc_finalize() == DC_OK);
  }
}

// Ranks 0 and 1 run; ranks 2 and 3 start from `file` meanwhile, as a job of their own would, and once more after the end of the run.
void check_second_run(const std::string& file, int code) {
  Job job(4, "99");
  MPI_Comm half = MPI_COMM_NULL, not_serving = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, job.rank() / 2, job.rank(), &half);
  MPI_Comm_split(MPI_COMM_WORLD, job.rank() == 1 ? MPI_UNDEFINED : 0, job.rank(), &not_serving);
  job.write(file, xml(1));
  job.write("job.xml", xml(1));
  job.together();
  const auto start = [&](const std::string& name) {
    Started started;
    started.code = dc_mpi_initialize(job.file(name).c_str(), half, &started.clients, &started.is_client);
    started.sentence = dc_last_error();
    return started;
  };
  if (job.rank() < 2) {
    const Started first = start("job.xml");
    REQUIRE(first.code == DC_OK);
    if (job.rank() == 0) {
      wait_for_all(not_serving);
      wait_for_all(not_serving);
      CHECK(dc_finalize() == DC_OK);
    }
  } else {
    wait_for_all(not_serving);
    const Started second = start(file);
    INFO(second.sentence);
    CHECK(second.code == code);
    if (second.code == DC_OK && second.is_client != 0) CHECK(dc_finalize() == DC_OK);
    if (code != DC_OK) {
      CHECK(same_on_all(half, second.sentence) == second.sentence);
      CHECK_THAT(second.sentence, Catch::Contains("another run of " + job.file(file) + " is under way on this node (process ") &&
                                      Catch::Contains("set DAMARIS_JOB and write to another folder"));
      CHECK(job.regions().size() == 1);
    }
    wait_for_all(not_serving);
  }
  job.together();
  if (job.rank() >= 2) {
    const Started again = start(file);
    CHECK(again.code == DC_OK);
    if (again.is_client == 1) CHECK(dc_finalize() == DC_OK);
  }
  job.together();
  CHECK(job.regions().empty());
  MPI_Comm_free(&half);
  if (not_serving != MPI_COMM_NULL) MPI_Comm_free(&not_serving);
}

TEST_CASE("a second run of the same XML in the same job is refused on all its ranks, and the first one goes on") {
  check_second_run("job.xml", DC_E_REGION_IN_USE);
}

TEST_CASE("a run of the same simulation from another folder may run beside the first one") { check_second_run("other.xml", DC_OK); }

}  // namespace
}  // namespace damaris::test
