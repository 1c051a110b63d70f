// What a prepared write must not do: call the system, or allocate. A real server in another process, the public interface.
// The system calls are counted by a seccomp filter, which sees also those that go around the C library.
#include <catch2/catch.hpp>

#include <damaris/damaris.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace {

std::size_t allocations = 0;

}  // namespace

// In front of the C library's for the whole process, libdamaris included.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void* realloc(void* old, std::size_t bytes) { return ++allocations, __libc_realloc(old, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return ++allocations, __libc_memalign(alignment, bytes); }
}

namespace {

constexpr int kSmall = 20;
constexpr const char* kLongName = "a_name_too_long_for_a_string_without_memory_of_its_own";

// Twenty small arrays of two dimensions with a place in a global one, and a large one.
std::string configuration() {
  std::string data =
      "<layout name=\"small\" type=\"float\" dimensions=\"4,6\" global=\"8,6\"/><layout name=\"large\" type=\"double\" "
      "dimensions=\"10000\"/><variable name=\"large\" layout=\"large\"/>";
  data += std::string("<variable name=\"") + kLongName + "\" layout=\"small\"/>";
  for (int i = 0; i < kSmall; ++i) data += "<variable name=\"v" + std::to_string(i) + "\" layout=\"small\"/>";
  return "<simulation name=\"fast_path\"><architecture><server start=\"manual\"/><buffer size=\"1MiB\"/></architecture><data>" +
         data + "</data></simulation>";
}

class ServerProcess {
 public:
  ServerProcess() : config_(folder_.write("fast_path.xml", configuration())) {
    ::setenv("DAMARIS_JOB", ("test" + std::to_string(::getpid())).c_str(), 1);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execlp("damaris-server", "damaris-server", config_.c_str(), "--clients=1", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~ServerProcess() { ::waitpid(pid_, nullptr, 0); }
  const std::string& config() const { return config_; }

 private:
  damaris::test::TempFolder folder_;
  std::string config_;
  pid_t pid_;
};

// A client with a handle for every variable.
class Handles {
 public:
  explicit Handles(const std::string& config) : ok_(dc_initialize(config.c_str(), 0) == DC_OK), data_(10000, 1.5) {
    const std::int64_t offsets[] = {4, 0};
    for (int i = 0; i < kSmall; ++i) {
      ok_ = ok_ && dc_variable(("v" + std::to_string(i)).c_str(), &handles_[static_cast<std::size_t>(i)]) == DC_OK;
      ok_ = ok_ && dc_set_position(("v" + std::to_string(i)).c_str(), 2, offsets) == DC_OK;
    }
    ok_ = ok_ && dc_variable("large", &handles_[kSmall]) == DC_OK;
  }
  bool ok() const { return ok_; }
  // Returns the number of writes that worked.
  int write_all(std::int64_t step) {
    int written = 0;
    for (dc_variable_t* handle : handles_) written += dc_write_to(handle, step, data_.data()) == DC_OK ? 1 : 0;
    return written;
  }
  static constexpr int kAll = kSmall + 1;

 private:
  bool ok_;
  std::array<dc_variable_t*, kAll> handles_ = {};
  std::vector<double> data_;
};

// What the filtered child tells its parent.
struct Counts {
  int ready, written;
  int system_calls, number_of_last;
  int of_control;  // with one more call made on purpose
};
Counts* counts = nullptr;

extern "C" void on_system_call(int, siginfo_t* info, void* context) {
  ++counts->system_calls;
  counts->number_of_last = info->si_syscall;
#if defined(__x86_64__)
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#endif
}

// From here on every system call of this thread, except returning from the handler and ending, raises SIGSYS. No way back.
bool trap_system_calls() {
  struct sigaction action = {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGSYS, &action, nullptr) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The client's whole life; it ends without goodbye, because that would need the system.
[[noreturn]] void write_under_the_filter(const std::string& config) {
  Handles handles(config);
  const bool first =
      handles.ok() && handles.write_all(0) == Handles::kAll && dc_end_iteration(0) == DC_OK && dc_flush(0, 10'000) == DC_OK;
  counts->ready = first && trap_system_calls() ? 1 : 0;
  if (counts->ready == 1) {
    counts->written = handles.write_all(1);
    const int calls = counts->system_calls;
    ::syscall(SYS_getppid);
    counts->of_control = counts->system_calls - calls;
    counts->system_calls = calls;
  }
  ::_exit(0);
}

}  // namespace

TEST_CASE("a write through a handle allocates nothing, not even the first one of a step") {
  const ServerProcess server;
  Handles handles(server.config());
  REQUIRE(handles.ok());
  const std::size_t before_control = allocations;
  void* volatile control = std::malloc(10);  // volatile, lest the compiler leave it out
  std::free(control);
  CHECK(allocations > before_control);
  std::size_t during = 0;
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::size_t before = allocations;
    const int written = handles.write_all(step);
    during += allocations - before;
    REQUIRE(written == Handles::kAll);
    REQUIRE(dc_end_iteration(step) == DC_OK);
    REQUIRE(dc_flush(step, 10'000) == DC_OK);
  }
  CHECK(during == 0);
  CHECK(dc_finalize() == DC_OK);
}

TEST_CASE("a write by name allocates nothing") {
  const ServerProcess server;
  REQUIRE(dc_initialize(server.config().c_str(), 0) == DC_OK);
  const std::vector<float> data(24);
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::size_t before = allocations;
    const int code = dc_write(kLongName, step, data.data());
    CHECK(allocations == before);
    CHECK(code == DC_OK);
    CHECK(dc_end_iteration(step) == DC_OK);
  }
  CHECK(dc_finalize() == DC_OK);
}

TEST_CASE("an ordinary write makes no system call") {
  counts = static_cast<Counts*>(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(counts != MAP_FAILED);
  {
    const ServerProcess server;
    const pid_t child = ::fork();
    if (child == 0) write_under_the_filter(server.config());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  REQUIRE(counts->ready == 1);
  CHECK(counts->of_control == 1);
  CHECK(counts->written == Handles::kAll);
  INFO("number of the last system call: " << counts->number_of_last);
  CHECK(counts->system_calls == 0);
  ::munmap(counts, sizeof(Counts));
}
