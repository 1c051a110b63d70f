#include "api/attach.hpp"

#include <damaris/version.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "client/slot.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/model/json.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/region_names.hpp"
#include "core/shm/server_facts.hpp"

namespace damaris::api {
namespace {

const server::Library* load_server_library() {
  const std::string folder = library_folder();
  const std::string path = (folder.empty() ? "" : folder + "/") + format("libdamaris_server.so.{}", DAMARIS_VERSION_MAJOR);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    throw Error(DC_E_CONFIG,
                format("cannot load {}: {}; install it beside libdamaris.so", path, why == nullptr ? "it is missing" : why));
  }
  using Entry = decltype(&damaris_server_library);
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "damaris_server_library"));
  const server::Library* found = entry == nullptr ? nullptr : entry(DAMARIS_VERSION);
  if (found == nullptr)
    throw Error(DC_E_VERSION,
                format("{} is not of version {}, as libdamaris is; install both from one build", path, DAMARIS_VERSION));
  return found;
}

constexpr int kReadyDescriptor = 3;  // in the server: the only inherited descriptor besides /dev/null on 0 to 2

std::string server_program() {
  if (const char* given = ::secure_getenv("DAMARIS_SERVER"); given != nullptr && *given != '\0') return given;
  const std::string beside =
      (std::filesystem::path(library_folder()).parent_path() / "bin" / "damaris-server").lexically_normal().string();
  if (::access(beside.c_str(), X_OK) != 0)
    throw Error(DC_E_CONFIG,
                format("no damaris-server at {}; set DAMARIS_SERVER to its path, or start it before the clients", beside));
  return beside;
}

// Child: writes its failure to the pipe that read_reply() reads, as a letter and errno in three digits.
constexpr char kNoProcess = 'p', kNoProgram = 'x';
[[noreturn]] void report_and_exit(int ready, char what) {
  const int reason = errno;
  const char text[] = {what, static_cast<char>('0' + reason / 100 % 10), static_cast<char>('0' + reason / 10 % 10),
                       static_cast<char>('0' + reason % 10)};
  (void)!::write(ready, text, sizeof text);
  ::_exit(127);
}

// A kernel before Linux 5.9, or a sandbox, has no close_range.
void close_from(int first) {
  if (::syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  constexpr rlim_t kMost = rlim_t{1} << 20;
  struct rlimit limit = {kMost, kMost};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (int descriptor = first; descriptor < static_cast<int>(std::min(limit.rlim_cur, kMost)); ++descriptor) ::close(descriptor);
}

// Only async-signal-safe calls, because the parent may have threads. The second fork makes init the parent, so that no process has to
// reap it.
[[noreturn]] void become_server(const char* program, const char* config, const char* clients, int ready, int null) {
  ::setsid();
  const pid_t server = ::fork();
  if (server < 0) report_and_exit(ready, kNoProcess);
  if (server > 0) ::_exit(0);
  // First out of the way: they may have these numbers, in a program that has closed its standard streams.
  for (int* const one : {&ready, &null}) {
    const int high = *one > kReadyDescriptor ? *one : ::fcntl(*one, F_DUPFD, kReadyDescriptor + 1);
    if (high < 0) report_and_exit(ready, kNoProcess);
    *one = high;
  }
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
  ::dup2(ready, kReadyDescriptor);
  close_from(kReadyDescriptor + 1);
  ::execl(program, "damaris-server", config, "--ready-fd", "3", clients, static_cast<char*>(nullptr));
  report_and_exit(kReadyDescriptor, kNoProgram);
}

// Returns the server's reply through the pipe: "ok", or "<code> <message>"; or the text of report_and_exit().
std::string read_reply(int pipe, const std::string& program, std::int64_t timeout_ms) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  std::string reply;
  while (true) {
    pollfd look = {pipe, POLLIN, 0};
    const int ready = ::poll(&look, 1, static_cast<int>(deadline.left_ms(timeout_ms)));
    if (ready == 0 || (!reply.empty() && deadline.expired()))
      throw Error(DC_E_TIMEOUT, format("the damaris-server that this client started is not ready after {} ms", timeout_ms));
    if (ready < 0) {  // nothing to read: the read would block without bound
      if (errno == EINTR) continue;
      throw system_error(DC_E_MEMORY, "cannot wait for damaris-server", errno, "check the limit of open files");
    }
    char text[512];
    const ssize_t length = ::read(pipe, text, sizeof text);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return reply;
    reply.append(text, static_cast<std::size_t>(length));
    if (reply.size() > kMostBytes)
      throw Error(DC_E_SERVER_LOST, format("{} answers its start with more than 64 KiB, so it is no damaris-server; set "
                                           "DAMARIS_SERVER to the path of one",
                                           program));
  }
}

Error no_process(int reason) {
  return system_error(DC_E_MEMORY, "cannot start damaris-server", reason,
                      "no process can be made: see ulimit -u, ulimit -v and pids.max of the control group");
}

// Distinguishes runs of the same name: the content of the configuration file, and its path.
struct Identity {
  std::uint64_t content = 0, place = 0;
  bool is_of(const shm::FoundRegion& region) const { return region.config_digest == content && region.config_place == place; }
};

// True if no client is left, whether or not the server has noticed.
bool is_about_to_leave(const shm::Region& region) {
  for (std::uint32_t slot = 0; slot < region.client_count(); ++slot) {
    const auto state = shm::state_of(region.slot(slot));
    const bool is_over = state == shm::SlotState::dead || state == shm::SlotState::drained;
    if (!is_over && (state != shm::SlotState::attached || region.client_lives(slot))) return false;
  }
  return true;
}

using Regions = std::vector<shm::FoundRegion>;

// Each search reads the whole of /dev/shm, in which other users may have put any number of files.
Regions regions_of_job() { return shm::find_regions(shm::job_prefix()); }

// Attaches to a free slot of a living detached server of this run, or returns nullptr. If another client takes a slot first, tries the
// next.
// `is_leaving`: if given, also returns nullptr, and sets it, for a server that is about to leave.
std::unique_ptr<Session> try_attach(const Regions& regions, const Identity& run, int id, bool* is_leaving = nullptr) {
  if (is_leaving != nullptr) *is_leaving = false;
  for (const shm::FoundRegion& found : regions) {
    if (!found.ready || !found.detached || !run.is_of(found)) continue;
    std::shared_ptr<shm::Region> region;
    try {
      region = std::make_shared<shm::Region>(shm::Region::attach(found.name));
    } catch (const Error& gone) {  // since it was found
      log_line(LogLevel::debug, gone.sentence());
      continue;
    }
    const auto frame = std::make_shared<const model::Frame>(model::frame_from_json(region->model().frame));
    for (std::uint32_t slot = 0; slot < region->client_count(); ++slot) {
      if (!client::try_claim(*region, slot, id)) continue;
      configure_log(log_level(frame->log.level), frame->log.file, format("client {}", id));
      return std::make_unique<Session>(region, frame, slot, id);
    }
    if (is_leaving != nullptr && (*is_leaving = is_about_to_leave(*region))) return nullptr;
    throw Error(DC_E_CONFIG, format("the server {} (process {}) already has its {} clients; start it with --clients N, or set "
                                    "<clients count=\"N\"> in the XML",
                                    found.name, found.server_pid, region->client_count()));
  }
  return nullptr;
}

void require_same_run(const Regions& regions, const model::Model& model, const Identity& run, const shm::RunKey& key) {
  const std::string same_place = shm::region_prefix(key);
  for (const shm::FoundRegion& found : regions) {
    if (!found.ready || !found.detached || run.is_of(found)) continue;
    if (found.config_place != run.place && found.name.rfind(same_place, 0) != 0) continue;
    const std::string server =
        format("the server of '{}' on this node (process {}, {})", model.simulation, found.server_pid, found.name);
    if (found.config_digest != run.content && found.config_place == run.place)
      throw Error(
          DC_E_CONFIG_MISMATCH,
          format("{} was started with another version of {}; stop it, or set DAMARIS_JOB to run beside it", server, model.file));
    throw Error(
        DC_E_REGION_IN_USE,
        format("{} serves another run, not that of {}; let it finish, or set DAMARIS_JOB to run beside it", server, model.file));
  }
}

// `started`: the log of the server that this client has started.
Error no_server(const model::Model& model, int id, const std::optional<std::string>& started) {
  const std::string server = format("start 'damaris server {}'", model.file);
  std::string remedy = server + " or set <server start=\"auto\"/>";
  if (model.architecture.start_server) remedy = "give <server attach-timeout=...> more";
  if (started) remedy = format("this client started one: {}, or {} by hand", shm::see_log(*started), server);
  return Error(DC_E_TIMEOUT, format("client {} found no server of '{}' on this node within {} ms; {}", id, model.simulation,
                                    model.architecture.attach_timeout_ms, remedy));
}

// The client that holds the start lock starts the server. `regions`: what was found just now.
std::unique_ptr<Session> attach_to_server(const model::Model& model, const Identity& run, int id, Regions regions) {
  const Deadline deadline = Deadline::after_ms(model.architecture.attach_timeout_ms);
  const shm::RunKey key = shm::run_key(model);
  shm::StartLock lock(key);
  std::optional<std::string> started;
  bool is_leaving = false, is_held = false;  // is_held: by another start
  for (;; regions = regions_of_job()) {
    if (auto session = try_attach(regions, run, id, &is_leaving)) return session;
    if (deadline.expired()) break;
    const bool may_start = model.architecture.start_server && !started && !is_leaving;
    is_held = may_start && !lock.try_take();
    if (may_start && !is_held) {
      regions = regions_of_job();  // another start may have ended meanwhile
      if (auto session = try_attach(regions, run, id)) return session;
      require_same_run(regions, model, run, key);
      started = shm::log_of_background_server(model);
      spawn_server(model.file, 0, deadline.left_ms(model.architecture.attach_timeout_ms));
      continue;
    }
    if (!model.architecture.start_server) require_same_run(regions, model, run, key);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (is_leaving)
    throw Error(DC_E_TIMEOUT,
                format("client {}: the server of '{}' on this node has lost all of its clients, and has not ended within {} ms; "
                       "start again when it has",
                       id, model.simulation, model.architecture.attach_timeout_ms));
  if (is_held) throw lock.held(format("client {} waited {} ms", id, model.architecture.attach_timeout_ms));
  throw no_server(model, id, started);
}

}  // namespace

const server::Library& server_library() {
  static const server::Library* const library = load_server_library();
  return *library;
}

void spawn_server(const std::string& config, int clients, std::int64_t timeout_ms) {
  const std::string program = server_program();
  const std::string clients_option = format("--clients={}", clients);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error(DC_E_MEMORY, "cannot make a pipe", errno, "check the limit of open files");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) {
    const int reason = errno;
    for (const int end : ends) ::close(end);
    throw system_error(DC_E_MEMORY, "cannot open /dev/null", reason, "check it, and the limit of open files");
  }
  const pid_t child = ::fork();
  if (child == 0) become_server(program.c_str(), config.c_str(), clients > 0 ? clients_option.c_str() : nullptr, ends[1], null);
  const int fork_errno = errno;
  ::close(ends[1]);
  ::close(null);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{ends[0]};
  if (child < 0) throw no_process(fork_errno);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const std::string reply = read_reply(ends[0], program, timeout_ms);
  if (reply.rfind("ok", 0) == 0) return;
  if (!reply.empty() && reply[0] == kNoProcess) throw no_process(std::atoi(reply.c_str() + 1));
  if (!reply.empty() && reply[0] == kNoProgram)
    throw system_error(DC_E_SERVER_LOST, format("cannot run {}", program), std::atoi(reply.c_str() + 1),
                       "check it, or set DAMARIS_SERVER to another path");
  const int code = std::atoi(reply.c_str());
  if (code < 0) throw Error(static_cast<dc_code>(code), reply.substr(reply.find(' ') + 1));
  throw Error(DC_E_SERVER_LOST, format("{} ended before it was ready; run it by hand to see why", program));
}

std::unique_ptr<Session> start_without_mpi(const std::string& config, int id) {
  const SignalGuard process_guard;
  if (id < 0) throw Error(DC_E_ARGUMENT, format("client id {} is negative; ids are 0 or more (usually the rank)", id));
  const std::string xml = read_config_file(config);
  const Identity run = {digest(xml), place_digest(config)};
  bool is_leaving = false;
  Regions regions;
  std::optional<Error> unlisted;  // an error only if a region is needed, which is not the case in place
  try {
    regions = regions_of_job();
    if (auto session = try_attach(regions, run, id, &is_leaving)) return session;
  } catch (const Error& error) {
    if (error.code() != DC_E_SHM) throw;
    unlisted = error;
  }
  auto model = server_library().parse(xml, config);
  configure_log(log_level(model->log.level), model->log.file, format("client {}", id));
  if (model->architecture.dedicated_cores > 0 && unlisted) throw Error(*unlisted);
  if (model->architecture.dedicated_cores > 0) {
    auto session = attach_to_server(*model, run, id, std::move(regions));
    model.reset();
    return_memory_of_parse(xml.size());
    return session;
  }
  if (model::needs_mpi(*model)) throw Error(DC_E_CONFIG, model::refusal_without_mpi(*model));
  server::StartOptions options;
  options.sources = {id};
  options.index = id;
  return std::make_unique<Session>(server_library().start({xml, model}, std::move(options)), model, id);
}

}  // namespace damaris::api
