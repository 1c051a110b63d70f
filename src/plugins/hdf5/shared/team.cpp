#include "team.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "../file/handle.hpp"

#ifdef H5_HAVE_PARALLEL

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "core/base/json.hpp"

#endif

namespace damaris::hdf5 {

Group group_of(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return {0, host.server_count};
  if (settings.files == Files::per_server) return {host.server_index, 1};
  const int first = host.server_index / settings.group_size * settings.group_size;
  return {first, std::min(settings.group_size, host.server_count - first)};
}

std::string name_part(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return "";
  if (settings.files == Files::per_group) return ".g" + std::to_string(host.server_index / settings.group_size);
  return std::string(".") + host.host_name + ".s" + std::to_string(host.server_index);
}

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr char kLate[] = "late:";

}  // namespace

Agreement::Agreement(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, Attend attend)
    : host_(host), group_(group), timeout_(timeout_ms), attend_(std::move(attend)), ready_(kNever), started_(kNever) {
  for (int server = group.first; server < group.first + group.size; ++server) reached_[server] = kNever;
}

void Agreement::send(int server, const std::string& what, std::int64_t step) const {
  const std::string text = kMessages + what + " " + std::to_string(step);
  if (host_.send(host_.self, server, text.data(), text.size()) == DC_OK) return;
  const std::string line =
      "hdf5: server " + std::to_string(server) + " cannot be sent the message '" + text + "', and will wait until its time-out";
  host_.log(host_.self, 0, line.c_str());
}

bool Agreement::may_write(const dc_step_t& step, Instant now) {
  if (ready_ != step.step) {
    ready_ = step.step;
    ready_since_ = now;
    send(group_.leader(), std::exchange(is_repeated_, false) ? "again" : "ready", ready_);
  }
  if (started_ != ready_ && abandoned_.count(ready_) == 0) check_timeout(now);
  return started_ == ready_ || abandoned_.count(ready_) > 0;
}

void Agreement::begin(std::int64_t step) {
  if (const auto found = abandoned_.find(step); found != abandoned_.end()) throw Failure(found->second, kRemedyIncluded);
}

// The leader knows which servers are late, and sends their names to all. The others wait a little longer for its message, as it may be late
// itself.
void Agreement::check_timeout(Instant now) {
  const bool leads = host_.server_index == group_.leader();
  if (now - ready_since_ <= (leads ? timeout_ : timeout_ + timeout_ / 2)) return;
  if (!leads) {
    abandoned_[ready_] = "server " + std::to_string(group_.leader()) + ", which leads the group, did not start the write within " +
                         std::to_string(timeout_.count()) + " ms, the turn-timeout";
    return;
  }
  for (const auto& [server, reached] : reached_) send(server, kLate + late_servers(), ready_);
}

std::string Agreement::late_servers() const {
  std::string late;
  const auto repeated = again_.find(ready_);
  const auto is_late = [&](int server, std::int64_t reached) {
    if (repeated == again_.end()) return reached < ready_;
    return have_data_.at(ready_).count(server) > 0 && repeated->second.count(server) == 0;
  };
  for (const auto& [server, reached] : reached_)
    if (is_late(server, reached)) late += (late.empty() ? "" : ",") + std::to_string(server);
  return late;
}

void Agreement::again(std::int64_t step) {
  if (step != ready_) return;
  ready_ = started_ = kNever;
  is_repeated_ = true;
}

void Agreement::passed(std::int64_t step) { send(group_.leader(), "passed", step); }

void Agreement::receive(int from, const std::string& message) {
  const std::size_t space = message.rfind(' ');
  const std::string what = message.substr(std::string(kMessages).size(), space - std::string(kMessages).size());
  const std::int64_t step = std::stoll(message.substr(space));
  if (what == "go") return go(step);
  if (what.rfind(kLate, 0) == 0)
    return void(abandoned_[step] = "server " + what.substr(sizeof kLate - 1) + " did not reach it within " +
                                   std::to_string(timeout_.count()) + " ms, the turn-timeout");
  std::int64_t& reached = reached_[from];
  reached = std::max(reached, step);
  if (what == "ready") have_data_[step].insert(from);
  if (what == "again") again_[step].insert(from);
  if (what == "ready" || (what == "again" && again_[step] == have_data_[step])) wanted_.insert(step);
  start_ready_steps();
}

// This server takes part even in a step that it has abandoned, to refuse it: a step is stored by all servers or by none.
void Agreement::go(std::int64_t step) {
  started_ = step;
  if (const auto found = abandoned_.find(step); found != abandoned_.end())
    attend_(step, found->second);
  else if (step != ready_)
    attend_(step, "");
}

void Agreement::start_ready_steps() {
  const auto before = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::int64_t all = std::min_element(reached_.begin(), reached_.end(), before)->second;
  while (!wanted_.empty() && *wanted_.begin() <= all) {
    const std::int64_t step = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    again_.erase(again_.begin(), again_.upper_bound(step));
    have_data_.erase(have_data_.begin(), have_data_.lower_bound(step));
    if (abandoned_.count(step) > 0) continue;  // all servers have abandoned it
    for (const auto& [server, reached] : reached_) send(server, "go", step);
  }
}

#ifdef H5_HAVE_PARALLEL

namespace {

// The only messages on the plugins' communicator.
constexpr int kConnectTag = 7;  // of the creation of a communicator
constexpr int kMeetTag = 8;
constexpr useconds_t kLookEveryUs = 20;
constexpr std::int64_t kWorkTimes = 10;  // times the timeout: the limit between two exchanges

void check(int result, const char* doing) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Failure(std::string("cannot ") + doing + ": " + text, 0);
}

std::string file_of(const void* symbol) {
  Dl_info info = {};
  return ::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Runs the task and encodes its result or failure as text.
std::string encoded_result_of(const std::function<std::string()>& task) {
  const auto failed = [](const std::string& why, int error) { return text_of({{"failed", why}, {"errno", error}}); };
  try {
    return text_of({{"done", task()}});
  } catch (const Failure& failure) {
    return failed(failure.what(), failure.system_error());
  } catch (const Error& error) {
    return failed(error.sentence(), kRemedyIncluded);
  } catch (const std::exception& error) {
    return failed(error.what(), 0);
  }
}

}  // namespace

void check_can_write_together(const dc_host_t& host, const std::string& files) {
  const auto refuse = [&](const std::string& why) { throw Error(DC_E_CONFIG, "files=\"" + files + "\" is not possible: " + why); };
  const std::string parallel = file_of(reinterpret_cast<void*>(&H5Pset_fapl_mpio)),
                    used = file_of(reinterpret_cast<void*>(&H5open));
  if (host.communicator == nullptr) refuse("the servers have no MPI; start with dc_mpi_initialize, or use per-server");
  if (parallel != used)
    refuse("the program has its own HDF5 (" + used + "), which hides the parallel one; link the program with " + parallel +
           ", or use per-server");
}

// Owns the pending communication: after a time-out it is never freed, as MPI may still write to it.
struct Team::Channel {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int size = 0;
  std::vector<int> sizes, places;
  std::string mine, all;

  ~Channel() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  void connect(const void* servers, const Group& group);
  // Cancels a pending connect message, because its communicator persists and may serve another run later.
  void abandon() {
    if (comm != MPI_COMM_NULL) return;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

void Team::Channel::connect(const void* servers, const Group& group) {
  const MPI_Comm everywhere = *static_cast<const MPI_Comm*>(servers);
  MPI_Group everybody = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  int range[1][3] = {{group.first, group.first + group.size - 1, 1}};
  check(MPI_Comm_group(everywhere, &everybody), "get the group of the servers");
  check(MPI_Group_range_incl(everybody, 1, range, &members), "choose the servers of a file");
  const int result = MPI_Comm_create_group(everywhere, members, kConnectTag, &comm);
  MPI_Group_free(&members);
  MPI_Group_free(&everybody);
  check(result, "connect the servers of a file");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms)
    : host_(host), group_(group), timeout_ms_(timeout_ms) {}

// After a time-out the communicator cannot be freed: other servers may still be waiting in it.
Team::~Team() {
  if (broken_) (void)channel_.release();
}

// Polls with sleeps instead of spinning, because the servers waited for may need the core.
template <class Begin>
void Team::bounded(std::int64_t timeout_ms, Begin&& begin) {
  constexpr const char* kDoing = "communicate with the servers of a file";
  broken_ = true;  // reset on success
  check(begin(channel_->request), kDoing);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (int there = 0;;) {
    check(MPI_Test(&channel_->request, &there, MPI_STATUS_IGNORE), kDoing);
    if (there != 0) break;
    if (std::chrono::steady_clock::now() > until) {
      channel_->abandon();
      throw Failure("not all servers of the group came within " + std::to_string(timeout_ms) +
                        " ms, as set by turn-timeout; shared files cannot be continued: restart the run from the stored steps",
                    kRemedyIncluded);
    }
    ::usleep(kLookEveryUs);
  }
  broken_ = false;
}

// Creating a communicator has no time-out. So each server first reports to the leader, which then answers all.
void Team::meet() {
  const MPI_Comm servers = *static_cast<const MPI_Comm*>(host_.communicator);
  const auto receive_from = [&](int from) {
    bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Irecv(nullptr, 0, MPI_CHAR, from, kMeetTag, servers, &it); });
  };
  const auto send_to = [&](int to) {
    bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Isend(nullptr, 0, MPI_CHAR, to, kMeetTag, servers, &it); });
  };
  if (!leads()) return send_to(group_.leader()), receive_from(group_.leader());
  for (int other = group_.first + 1; other < group_.first + group_.size; ++other) receive_from(other);
  for (int other = group_.first + 1; other < group_.first + group_.size; ++other) send_to(other);
}

void Team::barrier() {
  bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Ibarrier(channel_->comm, &it); });
}

// Two barriers: a server that arrives after the others have timed out may pass the first one, but not the second.
void Team::gather() {
  if (broken_) throw Failure("a server of the group missed an earlier step; restart the run", kRemedyIncluded);
  if (channel_ == nullptr) channel_ = std::make_unique<Channel>();
  if (channel_->comm == MPI_COMM_NULL) {
    meet();
    channel_->connect(host_.communicator, group_);
  }
  barrier();
  barrier();
}

std::vector<std::string> Team::exchange(const std::string& mine) {
  Channel& at = *channel_;
  const auto members = static_cast<std::size_t>(group_.size);
  at.mine = mine;
  at.size = static_cast<int>(mine.size());
  at.sizes.assign(members, 0);
  at.places.assign(members, 0);
  bounded(kWorkTimes * timeout_ms_,
          [&](MPI_Request& it) { return MPI_Iallgather(&at.size, 1, MPI_INT, at.sizes.data(), 1, MPI_INT, at.comm, &it); });
  for (std::size_t i = 1; i < members; ++i) at.places[i] = at.places[i - 1] + at.sizes[i - 1];
  at.all.assign(static_cast<std::size_t>(at.places.back() + at.sizes.back()), '\0');
  bounded(kWorkTimes * timeout_ms_, [&](MPI_Request& it) {
    return MPI_Iallgatherv(at.mine.data(), at.size, MPI_CHAR, at.all.data(), at.sizes.data(), at.places.data(), MPI_CHAR, at.comm,
                           &it);
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < members; ++i)
    texts.push_back(at.all.substr(static_cast<std::size_t>(at.places[i]), static_cast<std::size_t>(at.sizes[i])));
  return texts;
}

std::vector<std::string> Team::run_on_all(const std::function<std::string()>& task) {
  std::vector<std::string> results;
  for (const std::string& text : exchange(encoded_result_of(task))) {
    const Json result = Json::parse(text);
    if (result.contains("failed")) throw Failure(result.at("failed").get<std::string>(), result.at("errno").get<int>());
    results.push_back(result.at("done").get<std::string>());
  }
  return results;
}

std::string Team::run_on_leader(const std::function<std::string()>& task) {
  return run_on_all([&] { return leads() ? task() : std::string(); }).front();
}

Properties Team::file_access() const {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  checked(H5Pset_fapl_mpio(access.id(), channel_->comm, MPI_INFO_NULL), "set the servers of the file");
  return access;
}

Properties Team::collective_write() {
  Properties transfer(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_XFER)), "make the properties of a write");
  checked(H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE), "set a collective write");
  return transfer;
}

#else

namespace {

[[noreturn]] void refuse() { throw Error(DC_E_CONFIG, "this plugin was built with an HDF5 without MPI; use files=\"per-server\""); }

}  // namespace

struct Team::Channel {};

void check_can_write_together(const dc_host_t&, const std::string&) { refuse(); }
Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms)
    : host_(host), group_(group), timeout_ms_(timeout_ms) {}
Team::~Team() = default;
void Team::gather() { refuse(); }
std::vector<std::string> Team::run_on_all(const std::function<std::string()>&) { refuse(); }
std::string Team::run_on_leader(const std::function<std::string()>&) { refuse(); }
Properties Team::file_access() const { refuse(); }
Properties Team::collective_write() { refuse(); }

#endif

}  // namespace damaris::hdf5
