#include "tools/replay/ranked.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/output_file.hpp"
#include "replay/stage.hpp"
#include "tools/replay/sums.hpp"

namespace damaris::replay {
namespace {

namespace fs = std::filesystem;

constexpr int kPollUs = 20'000;
constexpr int kPatience = 500;  // polls until a job that was stopped is killed
constexpr std::uint64_t kMiB = 1 << 20;
constexpr const char* kBasename = "output";

std::string ranks_program() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* const libraries : {DAMARIS_LIBRARIES, "lib"})
    if (const auto found = here.parent_path() / libraries / "damaris/damaris-replay-ranks"; fs::exists(found))
      return found.string();
  throw Error(DC_E_NO_MPI, "this damaris was built without MPI, which this way of writing needs; install one with MPI");
}

std::string xml_of(const Job& job, const Outputs& outputs) {
  std::string variables;
  for (std::uint32_t i = 0; i < outputs.variables; ++i) variables += format("    <variable name=\"w{}\" layout=\"bytes\"/>\n", i);
  return format(
      "<simulation name=\"replay\">\n  <architecture>\n    <dedicated cores=\"{}\"/>\n    <buffer size=\"{}\" timeout=\"5min\"/>\n"
      "    <server finalize-timeout=\"1h\"/>\n  </architecture>\n  <data>\n    <layout name=\"bytes\" type=\"uint8\" "
      "dimensions=\"0\"/>\n"
      "{}  </data>\n  <storage>\n    <hdf5 basename=\"{}\" retry=\"0\"/>\n  </storage>\n</simulation>\n",
      job.cores, job.buffer_bytes, variables, kBasename);
}

void write_file(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_written = file >= 0 && write_all(file, text) == 0;
  if (file >= 0) ::close(file);
  if (!is_written) throw Error(DC_E_IO, format("cannot write '{}'; replay on another folder, see --on", path.string()));
}

// What an MPI job needs on one machine, with more ranks than cores, and as root in a container. The user's settings go before.
void set_environment(const std::vector<std::uint32_t>& nodes, std::uint32_t cores) {
  for (const auto& [name, value] : {std::pair{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                    {"OMPI_MCA_mpi_yield_when_idle", "1"},
                                    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                    {"OMPI_MCA_plm", "isolated"},
                                    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}})
    ::setenv(name, value, 0);
  if (::geteuid() == 0) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  std::vector<std::string> counts;
  for (const std::uint32_t one : nodes) counts.push_back(format("{}", one + cores));
  ::setenv("DAMARIS_RANKS_PER_NODE", format("{}", join(counts, ",")).c_str(), 1);
}

// A process group of its own, so that Ctrl-C reaches only its parent, which ends the job in order.
class Child {
 public:
  Child(std::vector<std::string> words, const std::string& folder, const std::vector<std::uint32_t>& nodes, std::uint32_t cores)
      : said_(::memfd_create("said", MFD_CLOEXEC)),
        job_(format("replay-{}", ::getpid())),
        begin_(format("damaris.{}.{}.", ::geteuid(), job_)) {
    const std::string memory = "/dev/shm/" + begin_ + "mpi";  // OpenMPI's, which it leaves when it is killed
    ::mkdir(memory.c_str(), 0700);
    std::vector<char*> arguments;
    for (std::string& one : words) arguments.push_back(one.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    set_environment(nodes, cores);
    ::setenv("DAMARIS_JOB", job_.c_str(), 1);
    ::setenv("OMPI_MCA_btl_vader_backing_directory", memory.c_str(), 0);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(said_, STDOUT_FILENO);
    ::dup2(said_, STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  // With what processes that were killed have left in memory.
  ~Child() {
    ::close(said_);
    std::error_code none;
    for (const fs::directory_entry& one : fs::directory_iterator("/dev/shm", none))
      if (one.path().filename().string().compare(0, begin_.size(), begin_) == 0) fs::remove_all(one.path(), none);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended() { return pid_ < 0 || ::waitpid(pid_, &status_, WNOHANG) == pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }
  bool is_well() const { return pid_ > 0 && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  bool was_found() const { return pid_ > 0 && !(WIFEXITED(status_) && WEXITSTATUS(status_) == 127); }
  // The first lines that it has printed.
  std::string said() const {
    std::string text(2000, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(said_, text.data(), text.size(), 0))));
    return text;
  }

 private:
  const int said_;
  const std::string job_, begin_;  // of names in /dev/shm
  pid_t pid_ = -1;
  int status_ = 0;
};

void wait(Child& child, Stage& stage, const std::atomic<int>& interrupted) {
  for (int polls = 0; !child.has_ended(); ::usleep(kPollUs)) {
    if (interrupted != 0) stage.common.stopped = true;
    if (!stage.common.stopped) continue;
    ++polls;
    if (polls == kPatience) child.kill(SIGTERM);
    if (polls == 2 * kPatience) child.kill(SIGKILL);
  }
}

double stored_seconds(const fs::path& manifest) {
  double sum = 0;
  std::ifstream lines(manifest);
  for (std::string line; std::getline(lines, line);) {
    const Json one = Json::parse(line, nullptr, false);
    if (one.is_object()) sum += one.value("stored_s", 0.0);
  }
  return sum;
}

}  // namespace

std::vector<std::uint32_t> nodes_of(const Plan& plan) {
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> counts;
  for (const Process& one : plan.processes) {
    const auto found = std::find(hosts.begin(), hosts.end(), one.host);
    const auto at = static_cast<std::size_t>(found - hosts.begin());
    if (found == hosts.end()) {
      hosts.push_back(one.host);
      counts.push_back(0);
    }
    ++counts[at];
  }
  return counts;
}

std::uint64_t buffer_for(const Outputs& outputs, std::uint64_t clients) {
  const std::uint64_t two = clients * (2 * outputs.largest_share + kMiB);
  return std::max<std::uint64_t>(64, (two + kMiB - 1) / kMiB) * kMiB;
}

Played play_ranked(const Job& job, const Outputs& outputs, const PlayFolder& folder, const std::atomic<int>& interrupted,
                   double& stored_s) {
  const bool is_served = job.way == Way::dedicated;
  const std::vector<std::uint32_t> nodes = nodes_of(outputs.plan);
  const fs::path place = fs::absolute(folder.path()) / outputs.folder;
  if (is_served) write_file(place / "replay.xml", xml_of(job, outputs));
  const std::size_t ranks = outputs.plan.processes.size() + (is_served ? nodes.size() * job.cores : 0);
  const char* const wish = std::getenv("DAMARIS_MPIEXEC");
  const std::string launcher = wish == nullptr ? DAMARIS_LAUNCHER : wish;
  Stage stage(outputs.plan, folder);
  Child child({launcher, "-n", format("{}", ranks), ranks_program(), fs::absolute(job.plan), fs::absolute(folder.path()),
               stage.path(), format("{:.17g}", job.stretch), is_served ? (place / "replay.xml").string() : ""},
              place, nodes, is_served ? job.cores : 0);
  wait(child, stage, interrupted);
  if (!child.was_found())
    throw Error(DC_E_NO_MPI,
                format("cannot start '{}', which starts MPI programs; install it, or name another in DAMARIS_MPIEXEC", launcher));
  if (!child.is_well() && !stage.common.stopped)
    throw Error(DC_E_IO, format("the processes of the replay have ended early; '{}' says:\n{}", launcher, child.said()));
  stored_s = stored_seconds(place / format("{}.jsonl", kBasename));
  return stage.result();
}

}  // namespace damaris::replay
