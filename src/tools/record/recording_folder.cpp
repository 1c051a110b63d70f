#include "tools/record/recording_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <system_error>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/process.hpp"

namespace damaris::record {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Hydra gives a job no name in the environment, but its proxies on all nodes the port of the one mpiexec: HOST:PORT. Wrappers such as
// scripts can be between a proxy and this process.
std::string hydra_port() {
  const std::string option("--control-port\0", 15);
  for (std::string process = "self"; !process.empty() && process != "0";) {
    const std::string words = contents("/proc/" + process + "/cmdline"), status = contents("/proc/" + process + "/status");
    if (const std::size_t at = words.find(option); at != std::string::npos) return words.c_str() + at + option.size();
    const std::size_t parent = status.find("\nPPid:\t");
    process = parent == std::string::npos ? "" : status.substr(parent + 7, status.find('\n', parent + 7) - parent - 7);
  }
  return "";
}

// What the launcher gives all processes of a job and no other one; "": the process is alone.
std::string job() {
  if (const std::string name = variable("PMIX_NAMESPACE"); !name.empty())
    return "pmix " + name + " " + variable("OMPI_MCA_orte_hnp_uri");
  if (const std::string port = variable("PMI_RANK").empty() ? "" : hydra_port(); !port.empty()) return "hydra " + port;
  // A batch script itself has no step: what it starts one after the other are other runs.
  if (const std::string step = variable("SLURM_STEP_ID"); !step.empty() && !variable("SLURM_PROCID").empty())
    return "slurm " + variable("SLURM_JOB_ID") + "." + step;
  if (variable("PMI_RANK").empty()) return "";
  return format("pmi {} {}", ::getppid(), start_time_of(::getppid()));  // at least they have the same parent
}

Error cannot(const std::string& what, int error) {
  return Error(DC_E_IO, format("cannot {}: {}; name a folder that can be written", what, text_of_errno(error)));
}

// Held until the process becomes the program.
void lock(const std::string& path) {
  const int file = ::open((path + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) throw cannot("make a file in '" + path + "'", errno);
  while (::flock(file, LOCK_EX) != 0)
    if (errno != EINTR) return;  // no locks here: the first process to write the description wins
}

struct Earlier {
  std::string job;  // "": there is no recording. One whose job is not known is another job's
  std::string id;
};

Earlier recording_in(const std::string& path) {
  std::ifstream file(path + "/recording.json");
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("format", "") != "damaris recording") return {};
  const std::string job = json.value("job", "");
  return {job.empty() ? "unknown" : job, json.value("id", "")};
}

// It is a part of names in /dev/shm.
std::string new_id() {
  std::random_device random;
  return format("{:08x}{:08x}", random(), random());
}

// Only a recording is replaced: in another folder nothing is ours, whatever its name.
void check_is_ours(const std::string& path, bool is_recording) {
  const std::set<std::string> ours = {".lock", ".store.new", "raw", "recording.json", "report.html", "store"};
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name != ".lock" && (!is_recording || ours.count(name) == 0))
      throw Error(DC_E_ARGUMENT, format("the folder '{}' is not empty: '{}' is in it; name a new folder with -o", path, name));
  }
}

void describe(const std::string& path, const std::vector<std::string>& program, const std::string& id) {
  const Json about = {
      {"format", "damaris recording"}, {"version", 1}, {"created", utc_now_ms()}, {"job", job()}, {"id", id}, {"program", program}};
  std::ofstream file(path + "/recording.json");
  if (!(file << text_of(about, 2) << "\n").flush()) throw cannot("write '" + path + "/recording.json'", errno);
}

}  // namespace

std::string enter_folder(const std::string& path, const std::vector<std::string>& program, bool force) try {
  fs::create_directories(path);
  lock(path);
  const Earlier earlier = recording_in(path);
  if (!earlier.job.empty() && earlier.job == job()) return earlier.id;
  check_is_ours(path, !earlier.job.empty());
  if (!earlier.job.empty() && !force)
    throw Error(DC_E_ARGUMENT, format("'{}' has a recording of another run; --force replaces it, -o names another folder", path));
  for (const char* old : {"/recording.json", "/raw", "/report.html", "/store", "/.store.new"}) fs::remove_all(path + old);
  fs::create_directory(path + "/raw");
  const std::string id = new_id();
  describe(path, program, id);
  return id;
} catch (const fs::filesystem_error& error) {
  throw cannot("make '" + path + "'", error.code().value());
}

}  // namespace damaris::record
