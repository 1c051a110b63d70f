#include "api/session.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "client/slot.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/observed.hpp"
#include "core/base/process_guard.hpp"
#include "core/base/text.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "core/shm/steps.hpp"

namespace damaris::api {
namespace {

std::string count_of(std::uint64_t number, const char* what) { return format("{} {}{}", number, what, number == 1 ? "" : "s"); }

// The one line that a run prints by itself, at its end: what the server of client 0 has stored, and whether anyone waited.
// "storm: 3 steps, 6.0 GiB of data in 1.5 GiB of files; clients waited 0.0 s for room; the server was 93 % idle". `in_place`: there is
// no server that could be idle.
std::string summary_of(const shm::RegionHeader& header, const std::string& simulation, bool in_place) {
  const auto of = [](const std::atomic<std::uint64_t>& total) { return total.load(std::memory_order_relaxed); };
  std::string text = header.server_count > 1 ? format("{}, server {} of {}: ", simulation, header.server_index, header.server_count)
                                             : simulation + ": ";
  text += count_of(of(header.stored_steps), "step");
  if (of(header.stored_bytes) > 0)
    text += format(", {} of data in {} of files", size_text(of(header.raw_bytes)), size_text(of(header.stored_bytes)));
  if (const std::uint64_t failed = of(header.failed_steps); failed > 0) text += format("; {} NOT stored", count_of(failed, "step"));
  if (const std::uint64_t left = of(header.left_out); left > 0)
    text += format("; {} left out, as the buffer was full", count_of(left, "write"));
  text += format("; clients waited {:.1f} s for room", static_cast<double>(of(header.waited_ns)) * 1e-9);
  if (in_place) return text;
  const auto now = static_cast<double>(Clock::now().time_since_epoch().count() - header.serving_since_ns);
  const double idle = 1 - static_cast<double>(of(header.busy_ns)) / std::max(now, 1.0);
  return text + format("; the server was {:.0f} % idle", 100 * std::clamp(idle, 0.0, 1.0));
}

// Unless <log summary="no">, or the log takes no warnings.
void print_summary(const shm::Region& region, const model::Frame& frame, bool in_place) {
  if (!frame.log.summary || !log_enabled(LogLevel::warning)) return;
  const std::string line = "damaris: " + summary_of(region.header(), frame.simulation, in_place) + "\n";
  const SignalGuard quiet;  // standard error may be a pipe without a reader
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

// Not destroyed at exit: a program that exits without dc_finalize counts as dead, and the server must see that. A session that is over for
// want of memory has moved to the second one.
std::atomic<Session*> the_session{nullptr}, session_without_memory{nullptr};
constexpr auto kShortWait = std::chrono::milliseconds(20);
constexpr auto kWatchInterval = std::chrono::microseconds(500);

// Each thread's last error. Under a pthread key, not in a thread_local object, which is destroyed before the handlers of atexit run: these may
// call Damaris too. The main thread keeps its message to the end of the process.
class LastError {
 public:
  // nullptr: none.
  static std::string* find() noexcept { return key() == kNone ? nullptr : static_cast<std::string*>(::pthread_getspecific(key())); }
  // Throws std::bad_alloc.
  static std::string& make() {
    if (std::string* const known = find()) return *known;
    auto made = std::make_unique<std::string>();
    if (key() == kNone || ::pthread_setspecific(key(), made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

 private:
  static constexpr pthread_key_t kNone = static_cast<pthread_key_t>(-1);
  static pthread_key_t key() noexcept {
    static const pthread_key_t made = [] {
      pthread_key_t key = kNone;
      return ::pthread_key_create(&key, [](void* text) { delete static_cast<std::string*>(text); }) == 0 ? key : kNone;
    }();
    return made;
  }
};

// Runs after other static destructors, such as that of a C++ session that finalizes.
struct AtExit {
  AtExit() { make_log(); }
  ~AtExit() {
    if (session() == nullptr || !session()->is_own()) return;
    try {
      if (const std::string loss = session()->loss_at_exit(); !loss.empty()) log_line(LogLevel::error, loss);
    } catch (...) {  // no memory for the line: it is lost, as in log_line()
    }
  }
} at_exit;

void require_memory() {
  const Session* const ended = session_without_memory;
  if (ended == nullptr) return;
  if (!ended->is_own()) throw_forked(*ended);
  throw Error(DC_E_MEMORY,
              "an earlier call of this process found no memory, and its session is over; give it more memory, and run it again");
}

}  // namespace

Session::Session(const std::shared_ptr<shm::Region>& shared, std::shared_ptr<const model::Frame> frame, std::uint32_t slot, int id)
    : client_(std::make_unique<client::Client>(shared, frame, slot, id)), region_(shared), frame_(std::move(frame)), id_(id) {
  tell_recorder_client(id, region_->header().run);
}

Session::Session(std::unique_ptr<server::Serving> server, const std::shared_ptr<const model::Frame>& frame, int id)
    : server_(std::move(server)),
      finalize_timeout_ms_(frame->architecture.finalize_timeout_ms),
      region_(server_->region()),
      frame_(frame),
      id_(id) {
  client::try_claim(*server_->region(), 0, id);
  client_ = std::make_unique<client::Client>(server_->region(), frame, 0, id, [this] { return pump(); });
  tell_recorder_client(id, region_->header().run);
}

// One of several waiting threads does the server's work; the others check again.
client::PumpResult Session::pump() {
  const ThreadStateGuard thread_state;  // a waiting write also calls this
  const std::unique_lock<std::mutex> lock(pump_mutex_, std::try_to_lock);
  if (!lock) {
    std::this_thread::yield();
    return client::PumpResult::waiting;
  }
  const SignalGuard process_guard;
  if (server_->poll()) {
    last_work_ = Clock::now();
    return client::PumpResult::worked;
  }
  if (!server_->busy()) return client::PumpResult::idle;
  const client::PumpResult waiting = server_->is_blocked() ? client::PumpResult::blocked : client::PumpResult::waiting;
  // The awaited process may run on the same core, so yield first; after a while, assume something slow, such as a disk, and sleep.
  if (Clock::now() - last_work_ < kShortWait)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kWatchInterval);
  return waiting;
}

void Session::print_end() const {
  if (id_ == 0) print_summary(*region_, *frame_, server_ != nullptr);
}

Status Session::finalize() {
  Status report = client_->finalize();
  if (server_ == nullptr) {
    print_end();
    return report;
  }
  const SignalGuard process_guard;
  // The other in-place processes finalize too, or have died.
  const Deadline deadline = Deadline::after_ms(finalize_timeout_ms_);
  bool all_here = server_->finished();
  for (; !all_here && !deadline.expired(); all_here = server_->finished()) pump();
  server_->close();
  print_end();
  const Status& last = server_->end_failure();
  if (report.code >= DC_OK && !all_here)
    report = {DC_E_TIMEOUT, format("the other processes did not finish within {} ms (<server finalize-timeout=...>); what "
                                   "needs all of them may be missing",
                                   finalize_timeout_ms_)};
  if ((report.code >= DC_OK && last.code < DC_OK) || (report.code == DC_OK && last.is_notice())) report = {last.code, last.message};
  return report;
}

// The storage gets no last try: handlers of atexit that HDF5 has registered, and destructors of static objects in plugins, have run by now,
// and a disk that hangs would keep the program from ending.
std::string Session::loss_at_exit() {
  if (server_ == nullptr) return "";
  const std::int64_t stored = shm::last_processed(server_->region()->header());
  const auto open = client_->unfinished_step();
  if (client_->last_ended_step() <= stored && !open) return "";
  return format(
      "process {} ends without dc_finalize: what it wrote from step {} on is not stored; call dc_finalize before the program "
      "ends: it tries again, and returns what is lost",
      process_, client_->last_ended_step() > stored ? stored + 1 : *open);
}

Session::~Session() {
  std::optional<SignalGuard> process_guard;
  if (is_own()) process_guard.emplace();
  client_.reset();
  server_.reset();
}

Session* session() noexcept { return the_session.load(std::memory_order_relaxed); }

void throw_forked(const Session& session) {
  throw Error(DC_E_FORKED,
              format("process {} has attached to Damaris, and this is process {}, a fork of it: only the process that has attached "
                     "may call; do not use Damaris in the fork, or fork before the session begins",
                     session.process(), ::getpid()));
}

void throw_in_callback() {
  throw Error(DC_E_NOT_INITIALIZED,
              "a plugin's callback called Damaris as a client does; a plugin belongs to the server and has its host's functions "
              "(damaris/plugin.h), so let the simulation make this call");
}

void throw_no_session() {
  require_memory();
  throw Error(DC_E_NOT_INITIALIZED, "Damaris is not initialized in this process; call dc_initialize or dc_mpi_initialize first");
}

int end_session_without_memory() noexcept {
  if (Session* const ended = session()) {
    session_without_memory = ended;
    the_session = nullptr;
    if (ended->is_own()) {
      ended->client().end_session();
      log_line(LogLevel::error,
               "out of memory: the session of this process is over, and the steps that it has not ended lack its data");
    }
  }
  return set_last_error(DC_E_MEMORY, "out of memory; give the process more (ulimit -v, the job's memory)");
}

void require_no_session() {
  if (session() != nullptr && !session()->is_own()) throw_forked(*session());
  require_outside_callback();
  require_memory();
  if (session() != nullptr)
    throw Error(DC_E_ALREADY_INITIALIZED,
                "Damaris is already initialized in this process; call dc_finalize before a second dc_initialize");
}

void set_session(std::unique_ptr<Session> session) noexcept { delete the_session.exchange(session.release()); }

int set_last_error(int code, std::string_view sentence) noexcept {
  try {
    LastError::make() = lines_without_controls(std::string(sentence));
  } catch (...) {
    if (std::string* const known = LastError::find()) known->clear();  // no memory for the message: only the code is left
  }
  return code;
}

const char* last_error() noexcept {
  const std::string* const known = LastError::find();
  return known == nullptr ? "" : known->c_str();
}

}  // namespace damaris::api
