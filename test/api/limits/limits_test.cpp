// A simulation whose process has limits, no standard streams, or its own idea of descriptors: in place and with a detached server.
#include <damaris/damaris.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include "core/shm/dead_regions.hpp"
#include "support/temp_folder.hpp"

namespace {
bool refuses_threads = false;
}

// The library's, unless a case wants it refused: what std::thread calls is looked for in the program first.
#ifdef DAMARIS_TEST_REFUSES_THREADS
#include <dlfcn.h>
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return refuses_threads ? EAGAIN : real(thread, attributes, start, argument);
}
#endif

namespace damaris::test {
namespace {

constexpr std::size_t kValues = 32 * 1024;  // of 8 bytes

// One simulation in a process of its own, which says in a file what was not as it should be.
class Simulation {
 public:
  explicit Simulation(int cores, const std::string& more = "", const std::string& hdf5 = "", const std::string& buffer = "4MiB") {
    ::setenv("DAMARIS_JOB", folder_.path().filename().c_str(), 1);
    ::setenv("DAMARIS_TEST_LOG", folder_.file("log").c_str(), 1);
    config_ = folder_.write("run.xml", "<simulation name='limits'><architecture><dedicated cores='" + std::to_string(cores) +
                                           "'/><clients count='1'/><buffer size='" + buffer +
                                           "'/></architecture><data><layout name='l' type='double' dimensions='" +
                                           std::to_string(kValues) + "'/><variable name='x' layout='l'/></data>" +
                                           "<storage><hdf5 basename='" + folder_.file("out") + "' retry='0' " + hdf5 +
                                           "/></storage>" + more + "</simulation>");
    ::setenv("DAMARIS_TEST_CONFIG", config_.c_str(), 1);
  }
  void run(const std::function<void(Simulation&)>& work) {
    const std::string told = folder_.write("told", "");
    const pid_t child = ::fork();
    if (child == 0) {
      told_ = ::fcntl(::open(told.c_str(), O_WRONLY | O_APPEND), F_DUPFD_CLOEXEC, 200);
      work(*this);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(content("told") == "");
    CHECK(status == 0);
  }
  // In the child.
  void expect(bool good, const std::string& what) {
    const std::string line = what + ": " + dc_last_error() + "\n";
    if (!good && ::write(told_, line.data(), line.size()) < 0) ::_exit(3);
  }
  void must(int code, const std::string& what) { expect(code == DC_OK, what + " returned " + std::to_string(code)); }
  void start() { must(dc_initialize(config_.c_str(), 0), "dc_initialize"); }
  int step(std::int64_t step) {
    const std::vector<double> values(kValues, static_cast<double>(step));
    must(dc_write("x", step, values.data()), "dc_write");
    if (const int code = dc_end_iteration(step); code != DC_OK) return code;
    return dc_flush(step, 60'000);
  }
  const std::string& config() const { return config_; }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string content(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t stored_steps() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      count += entry.path().filename().string().find(".s0.i") != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  TempFolder folder_;
  std::string config_;
  int told_ = -1;
};

void limit_files(pid_t process, rlim_t bytes) {
  struct rlimit limit = {};
  ::prlimit(process, RLIMIT_FSIZE, nullptr, &limit);
  limit.rlim_cur = bytes;
  ::prlimit(process, RLIMIT_FSIZE, &limit, nullptr);
}

bool says(const char* part) { return std::strstr(dc_last_error(), part) != nullptr; }

TEST_CASE("in place, a file beyond the limit of its size is an error of its step, and the signals are as they were") {
  Simulation simulation(0);
  simulation.run([](Simulation& s) {
    s.start();
    s.must(s.step(0), "step 0");
    limit_files(0, 64 * 1024);
    s.expect(s.step(1) == DC_E_EARLIER_IO && says("ulimit -f"), "the step that is too large");
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    struct sigaction action = {};
    ::sigaction(SIGXFSZ, nullptr, &action);
    s.expect(::sigismember(&mask, SIGXFSZ) == 0 && action.sa_handler == SIG_DFL, "the signal");
    limit_files(0, RLIM_INFINITY);
    s.must(s.step(2), "step 2");
    s.must(dc_finalize(), "dc_finalize");
  });
  CHECK(simulation.stored_steps() == 2);
}

TEST_CASE(
    "a server beyond the limit of a file's size lives on and reports, and a region beyond it is refused with the limit's name") {
  Simulation simulation(1);
  simulation.run([](Simulation& s) {
    limit_files(0, 64 * 1024);
    s.expect(dc_initialize(s.config().c_str(), 0) == DC_E_SHM && says("ulimit -f"), "a region that is too large");
    limit_files(0, RLIM_INFINITY);
    s.start();
    s.must(s.step(0), "step 0");
    const auto regions = shm::find_regions(shm::job_prefix());
    s.expect(regions.size() == 1, "one region");
    limit_files(regions.at(0).server_pid, 64 * 1024);
    s.expect(s.step(1) == DC_E_EARLIER_IO && says("ulimit -f"), "the step that is too large");
    limit_files(regions.at(0).server_pid, RLIM_INFINITY);
    s.must(s.step(2), "step 2");
    s.must(dc_finalize(), "dc_finalize");
  });
  CHECK(simulation.stored_steps() == 2);
}

TEST_CASE("without standard streams a run starts, and what is written to them reaches no file and no region of ours") {
  for (const int cores : {0, 1}) {
    INFO(cores << " dedicated cores");
    Simulation simulation(cores, "<log level='info' file='" + std::string("server.log") + "'/>");
    simulation.run([](Simulation& s) {
      if (::chdir(s.file("").c_str()) != 0) ::_exit(4);
      for (int descriptor = 0; descriptor < 3; ++descriptor) ::close(descriptor);
      s.start();
      for (std::int64_t step = 0; step < 3; ++step) {
        for (int descriptor = 0; descriptor < 3; ++descriptor)
          s.expect(::write(descriptor, "this is no data", 15) < 0 && errno == EBADF, "a standard stream is somebody's file");
        s.must(s.step(step), "a step");
      }
      s.must(dc_finalize(), "dc_finalize");
    });
    CHECK(simulation.stored_steps() == 3);
    CHECK(simulation.content("out.jsonl").find("this is no data") == std::string::npos);
  }
}

TEST_CASE("a program that closes the descriptors it does not know, and uses their numbers, runs on and keeps its files") {
  for (const int cores : {0, 1}) {
    INFO(cores << " dedicated cores");
    Simulation simulation(cores, "<log level='info' file='server.log'/>");
    simulation.run([](Simulation& s) {
      if (::chdir(s.file("").c_str()) != 0) ::_exit(4);
      s.start();
      s.must(s.step(0), "step 0");
      for (int descriptor = 3; descriptor < 64; ++descriptor) ::close(descriptor);
      s.must(s.step(1), "step 1");
      std::vector<int> mine;
      for (int descriptor = 3; descriptor < 64; ++descriptor) ::close(descriptor);
      for (int i = 0; i < 20; ++i) mine.push_back(::open(s.file("mine").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      s.must(s.step(2), "step 2");
      s.must(dc_finalize(), "dc_finalize");
      for (const int descriptor : mine) {
        struct stat facts = {};
        s.expect(::fstat(descriptor, &facts) == 0 && facts.st_size == 0, "a file of the program was closed or written to");
      }
    });
    CHECK(simulation.stored_steps() == 3);
  }
}

TEST_CASE("a plugin that calls Damaris from a callback is refused, in place and in a server, and the run goes on") {
  for (const int cores : {0, 1}) {
    INFO(cores << " dedicated cores");
    Simulation simulation(cores, "<actions><event name='e'/><plugin name='caller' library='damaris_test_caller.so'/></actions>");
    simulation.run([](Simulation& s) {
      s.start();
      s.must(s.step(0), "step 0");
      s.must(s.step(1), "step 1");
      s.must(dc_finalize(), "dc_finalize");
    });
    std::string refused;
    for (int call = 0; call < 8; ++call) refused += std::to_string(DC_E_NOT_INITIALIZED) + " ";
    const std::string log = simulation.content("log");
    CHECK(log.find(refused + "a plugin's callback called Damaris as a client does") == 0);
    CHECK(std::count(log.begin(), log.end(), '\n') == 2);
    CHECK(simulation.stored_steps() == 2);
  }
}

#ifdef DAMARIS_TEST_REFUSES_THREADS
TEST_CASE("where the system gives no thread a start fails, and names the limit") {
  Simulation simulation(0, "", "reduce='deflate' threads='4'");
  simulation.run([](Simulation& s) {
    refuses_threads = true;
    s.expect(dc_initialize(s.config().c_str(), 0) == DC_E_MEMORY && says("ulimit -u"), "a start without threads");
  });
}
#endif

}  // namespace
}  // namespace damaris::test
