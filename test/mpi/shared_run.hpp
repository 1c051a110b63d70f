// Two servers that write one file together, each with one client: half a line of numbers from each.
// Used by: MPI tests of trouble with shared files, on every rank.
// Before it: job.hpp. After it: the run's files, its manifest and `damaris verify`.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "job.hpp"
#include "support/manifest_lines.hpp"
#include "support/run_program.hpp"

namespace damaris::test {

class SharedRun {
 public:
  // Collective over MPI_COMM_WORLD. `more` are attributes of <hdf5>; its files are in the folder "out" of the job, and their
  // names begin with `stem`.
  explicit SharedRun(const std::string& more = "", const std::string& buffer = "size='16MiB'",
                     const std::string& whole = "global='2*n'", const std::string& stem = "storm")
      : job(4, "2"), out(job.file("out")), run(out + "/" + stem) {
    if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::create_directories(out);
    ::setenv("DAMARIS_TEST_HIDE", out.c_str(), 1);
    xml_ = "<simulation name='shared'><architecture><dedicated cores='1'/><buffer " + buffer +
           "/></architecture><data><parameter name='n' value='16'/><layout name='line' type='double' dimensions='n' " + whole +
           "/><variable name='x' layout='line'/><type name='row'><field name='a' type='double' count='8192'/></type>"
           "<layout name='row' type='row' dimensions='1' global='3'/><variable name='y' layout='row'/></data><storage><hdf5 "
           "basename='" +
           run + "' files='single' " + more + "/></storage><actions>";
    for (const char* action : {"hide", "show", "stay"})
      xml_ += "<event name='" + std::string(action) + "' action='" + action + "' using='damaris_test_faults.so' scope='core'/>";
    xml_ += "</actions></simulation>";
  }
  // Starts; servers come back when the run is over. Returns whether this rank is a client.
  bool start() {
    if (!job.member()) return false;
    started = job.start(xml_);
    INFO(started.sentence);
    if (started.is_client != 0) REQUIRE(started.code == DC_OK);
    return started.is_client == 1;
  }
  int rank() const { return rank_in(started.clients); }
  // Waits for the other client.
  void both() const { wait_for_all(started.clients); }
  // Waits until all servers have recorded the step: a flush waits for this client's server alone. Then for the other client.
  void recorded(std::int64_t step) const {
    const auto is_there = [&] { return record(step).value("servers", std::vector<int>{}).size() == 2; };
    for (int tries = 0; tries < 2'000 && !is_there(); ++tries) ::usleep(10'000);
    both();
  }

  // Of this client: `count` numbers that no filter makes small.
  void write(std::int64_t step, std::size_t count = 16) const {
    std::vector<double> data(count);
    std::uint64_t state = static_cast<std::uint64_t>(step + 1) * 977 + static_cast<std::uint64_t>(rank());
    for (double& value : data) value = static_cast<double>((state = state * 6364136223846793005u + 1442695040888963407u) >> 11);
    const std::int64_t place = rank() * static_cast<std::int64_t>(count);
    CHECK(dc_set_parameter("n", static_cast<std::int64_t>(count)) == DC_OK);
    CHECK(dc_set_position("line", 1, &place) == DC_OK);
    CHECK(dc_write("x", step, data.data()) == DC_OK);
  }
  // Ends the step and waits for it. Returns why it is not stored, the same on both clients; "" when it is.
  std::string end(std::int64_t step) const {
    const std::string mine = outcome(step);
    return same_on_all(started.clients, mine);
  }
  // The same of this client alone.
  static std::string outcome(std::int64_t step) {
    int code = dc_end_iteration(step);  // says it already when the server is quick
    if (code == DC_OK) code = dc_flush(step, 30'000);
    if (code == DC_OK) return "";
    CHECK(code == DC_E_EARLIER_IO);
    return dc_last_error();
  }
  void signal(const char* name, std::int64_t step) const { CHECK(dc_signal(name, step) == DC_OK); }

  // What the manifest says of a step, with its files.
  Json record(std::int64_t step) const { return recorded_step(run, step); }
  // Without the logs of the servers.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(out))
      if (const std::string name = entry.path().filename().string(); !manifest::log_name_from(name, "storm")) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string verified() const { return run_program({"damaris", "verify", run}).out; }

  Job job;
  std::string out, run;  // the folder, and the run's basename in it
  Started started;

 private:
  std::string xml_;
};

}  // namespace damaris::test
