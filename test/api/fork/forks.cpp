// A simulation that makes every kind of child between its calls: each must leave what was attached alone, and none of its values may miss.
// Runs alone, or under MPI with clients and a server; each client is source `rank`.
// Before it: fork_test.cpp, or mpi-run, with the XML as argument. After it: exit status, and what the recorder plugin was handed.
#ifdef FORKS_MPI
#include <damaris/damaris_mpi.hpp>
#else
#include <damaris/damaris.hpp>
#endif

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int kElements = 16;
std::string config;
// Destroyed at the end of the process, of a child too.
std::optional<damaris::Session> session;
dc_variable_t* handle = nullptr;

void complain(const std::string& what) { std::fprintf(stderr, "FAILED: %s: %s\n", what.c_str(), dc_last_error()); }

// How many calls of the child were not refused as they must be.
int calls_let_through() {
  double values[kElements] = {};
  std::int64_t number = 1;
  dc_variable_t* found = nullptr;
  dc_layout_t layout;
  dc_status_t status;
  void* data = nullptr;
  const int codes[] = {dc_initialize(config.c_str(), 77),
                       dc_write("x", 100, values),
                       dc_write_block("x", 100, 1, values),
                       dc_write_typed("x", 100, 0, DC_FLOAT64, values, 0, nullptr, nullptr),
                       dc_write_to(handle, 100, values),
                       dc_write_to_typed(handle, 100, 0, DC_FLOAT64, values, 0, nullptr, nullptr),
                       dc_alloc("x", 100, 0, &data),
                       dc_alloc_typed("x", 100, 0, DC_FLOAT64, &layout, &data),
                       dc_commit("x", 100, 0),
                       dc_variable("x", &found),
                       dc_read("x", 0, values),
                       dc_read_block("x", 0, 0, values),
                       dc_read_typed("x", 0, 0, DC_FLOAT64, values, 0, nullptr, nullptr),
                       dc_last_step(nullptr, &number),
                       dc_signal("tick", 100),
                       dc_set_time(100, 1.0),
                       dc_end_iteration(100),
                       dc_flush(0, 1000),
                       dc_status(&status),
                       dc_set_parameter("n", 3),
                       dc_get_parameter("n", &number),
                       dc_set_shape("x", 0, nullptr),
                       dc_set_position("x", 1, &number),
                       dc_get_layout("x", &layout),
                       dc_finalize()};
  int let_through = 0;
  for (const int code : codes) let_through += code == DC_E_FORKED ? 0 : 1;
  return let_through;
}

pid_t fork_without_handlers() { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

bool ends_well(pid_t child) {
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool exits_through_destructors() {
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  return ends_well(child);
}

bool exits_at_once() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return ends_well(child);
}

bool calls(pid_t (*fork)()) {
  const pid_t child = fork();
  if (child == 0) ::_exit(calls_let_through());
  return ends_well(child);
}

bool ends_its_copy_of_the_session() {
  const pid_t child = ::fork();
  if (child != 0) return ends_well(child);
  int code = DC_OK;
  try {
    session->finalize();
  } catch (const damaris::Error& error) {
    code = error.code();
  }
  session.reset();
  std::exit(code == DC_E_FORKED ? 0 : 1);
}

bool runs_programs() {
  char line[8] = "";
  if (std::system("true") != 0) return false;
  std::FILE* pipe = ::popen("echo done", "r");
  const bool read = pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr && std::string(line) == "done\n";
  if (pipe == nullptr || ::pclose(pipe) != 0 || !read) return false;
  pid_t child = -1;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  if (::posix_spawnp(&child, "true", nullptr, nullptr, arguments, environ) != 0 || !ends_well(child)) return false;
  child = ::vfork();
  if (child == 0) {
    ::execvp("true", arguments);
    ::_exit(127);
  }
  return ends_well(child);
}

const std::vector<std::function<bool()>> kChildren = {exits_through_destructors,    exits_at_once,
                                                      [] { return calls(::fork); }, [] { return calls(fork_without_handlers); },
                                                      ends_its_copy_of_the_session, runs_programs};

// A child before the write, one between write and end, one after the end.
bool step(int number, const std::function<bool()>& child) {
  const std::vector<double> values(kElements, number + 1.0);
  if (!child()) return complain("a child before step " + std::to_string(number)), false;
  session->write("x", number, values);
  if (!child()) return complain("a child in step " + std::to_string(number)), false;
  session->end_iteration(number);
  if (!child()) return complain("a child after step " + std::to_string(number)), false;
  return true;
}

bool simulate() {
  if (dc_variable("x", &handle) != DC_OK) return false;
  bool good = true;
  for (std::size_t i = 0; i < kChildren.size(); ++i) good = step(static_cast<int>(i), kChildren[i]) && good;
  const int last = static_cast<int>(kChildren.size()) - 1;
  session->flush(last, std::chrono::seconds(20));
  good = good && session->status().last_complete == last && session->status().writes == kChildren.size();
  session->finalize();
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  config = argc > 1 ? argv[1] : "";
  bool good = false;
#ifdef FORKS_MPI
  MPI_Init(&argc, &argv);
#endif
  try {
#ifdef FORKS_MPI
    MPI_Comm clients = MPI_COMM_NULL;
    session = damaris::mpi_session(config, MPI_COMM_WORLD, clients);
    good = !session || simulate();
#else
    session = damaris::Session::attach(config, 0);
    good = simulate();
#endif
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
  }
  session.reset();
#ifdef FORKS_MPI
  MPI_Finalize();
#endif
  return good ? 0 : 1;
}
