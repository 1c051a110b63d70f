#include "core/base/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <new>

#include "core/base/file.hpp"
#include "core/base/format.hpp"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace damaris {
namespace {

using Word = std::atomic<std::uint64_t>;

Word plain_word{0};

// A page that the kernel clears in every fork. Before Linux 4.14 an atfork handler clears a word, in children of fork() only.
Word& make_word() noexcept {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && ::madvise(page, bytes, MADV_WIPEONFORK) == 0) return *new (page) Word(0);
  if (page != MAP_FAILED) ::munmap(page, bytes);
  ::pthread_atfork(nullptr, nullptr, [] { plain_word.store(0); });
  return plain_word;
}

Word& word_of_process() noexcept {
  static Word& word = make_word();
  return word;
}

// A fork continues its parent's count, so no mark that it copied ever equals its own.
std::atomic<std::uint64_t> last_mark{0};

std::uint64_t mark_of_process() noexcept {
  Word& word = word_of_process();
  std::uint64_t mark = word.load();
  if (mark == 0) {
    const std::uint64_t fresh = ++last_mark;
    if (word.compare_exchange_strong(mark, fresh)) mark = fresh;
  }
  return mark;
}

constexpr int kMostAncestors = 64;

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// "NAME value" of the first that is set, else "".
std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const std::string value = value_of(variable); !value.empty()) return format("{} {}", variable, value);
  return "";
}

// Identifies the run, not the batch job, which may contain several concurrent runs.
std::string launched_run() {
  if (const std::string run = first_of({"PMIX_NAMESPACE", "PALS_APID"}); !run.empty()) return run;
  const std::string job = value_of("SLURM_JOB_ID"), step = value_of("SLURM_STEP_ID");
  return job.empty() || step.empty() ? "" : format("slurm {}.{}", job, step);
}

std::string environment_of(std::int32_t pid) {
  std::ifstream file(format("/proc/{}/environ", pid), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::int32_t parent_of(std::int32_t pid) { return stat_of(pid).value_or(ProcessStat()).parent; }

// The nearest ancestor that is not itself a rank: scripts and debuggers may run between a rank and its launcher.
std::string local_launcher() {
  for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID"}) {
    if (value_of(variable).empty()) continue;
    std::int32_t ancestor = parent_of(static_cast<std::int32_t>(::getpid()));
    const std::string entry = '\0' + std::string(variable) + '=';
    for (int level = 0; ancestor > 1 && level < kMostAncestors; ++level, ancestor = parent_of(ancestor))
      if (('\0' + environment_of(ancestor)).find(entry) == std::string::npos)
        return format("launcher {} {}", ancestor, start_time_of(ancestor));
  }
  return "";
}

std::string machine() {
  char host[256] = {};
  (void)::gethostname(host, sizeof host - 1);
  return host;
}

std::string group() {
  if (const std::string given = value_of("DAMARIS_JOB"); !given.empty()) return format("job {}", given);
  if (const std::string run = launched_run(); !run.empty()) return run;
  if (const std::string job = first_of({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}); !job.empty()) return job;
  if (const std::string launcher = local_launcher(); !launcher.empty()) return format("{} {}", machine(), launcher);
  const auto self = static_cast<std::int32_t>(::getpid());
  return format("{} process {} {}", machine(), self, start_time_of(self));
}

}  // namespace

// Reads fields 3, 4, 20 and 22 of /proc/<pid>/stat. The command in field 2 may contain blanks and parentheses, so parsing starts at the last ')'.
std::optional<ProcessStat> stat_of(std::int32_t pid) noexcept {
  char text[1024];
  std::snprintf(text, sizeof text, "/proc/%d/stat", pid);
  const int file = ::open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  ProcessStat stat;
  unsigned long long start = 0;
  if (rest == nullptr || std::sscanf(rest + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s %llu",
                                     &stat.state, &stat.parent, &stat.threads, &start) != 4)
    return std::nullopt;
  stat.start_time = start;
  return stat;
}

CreatorProcess::CreatorProcess() noexcept : word_(&word_of_process()), mark_(mark_of_process()) {}

std::string run_identity(std::string_view xml) { return format("{:016x} {}", digest(xml), group()); }

}  // namespace damaris
