#include "team.hpp"

#include <damaris/error.hpp>

#include "../file/handle.hpp"

#ifdef H5_HAVE_PARALLEL

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/json_bytes.hpp"
#include "team_channel.hpp"

namespace damaris::hdf5 {
namespace {

// The only messages on the plugins' communicator.
constexpr int kConnectTag = 7;  // of the creation of a communicator
constexpr int kMeetTag = 8;
constexpr useconds_t kLookEveryUs = 20;
constexpr const char* kDoing = "communicate with the servers of a file";

std::string file_of(const void* symbol) {
  Dl_info info = {};
  return ::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Runs the task and encodes its result or failure as text.
std::string encoded_result_of(const std::function<std::string()>& task) {
  // A path, as result or in a sentence, need not be UTF-8.
  const auto failed = [](const std::string& why, int error) { return text_with_bytes_of({{"failed", why}, {"errno", error}}); };
  try {
    return text_with_bytes_of({{"done", task()}});
  } catch (const Failure& failure) {
    return failed(failure.what(), failure.system_error());
  } catch (const Error& error) {
    return failed(error.sentence(), kNoRemedy);
  } catch (const std::bad_alloc&) {
    return failed("a server is out of memory; give the dedicated core more, or write less in one step", kNoRemedy);
  } catch (const std::exception& error) {
    return failed(error.what(), 0);
  }
}

// Throws the failure that the text holds.
std::string result_in(const std::string& text) {
  const Json result = parse_with_bytes(text);
  if (result.contains("failed")) throw Failure(result.at("failed").get<std::string>(), result.at("errno").get<int>());
  return result.at("done").get<std::string>();
}

}  // namespace

void check_mpi(int result, const char* doing) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Failure(std::string("cannot ") + doing + ": " + text, 0);
}

void check_can_write_together(const dc_host_t& host, const std::string& files) {
  const auto refuse = [&](const std::string& why) { throw Error(DC_E_CONFIG, "files=\"" + files + "\" is not possible: " + why); };
  const std::string parallel = file_of(reinterpret_cast<void*>(&H5Pset_fapl_mpio)),
                    used = file_of(reinterpret_cast<void*>(&H5open));
  if (host.communicator == nullptr) refuse("the servers have no MPI; start with dc_mpi_initialize, or use per-server");
  if (parallel != used)
    refuse("the program has its own HDF5 (" + used + "), which hides the parallel one; link the program with " + parallel +
           ", or use per-server");
}

void Team::Channel::connect(const void* servers, const Group& group) {
  const MPI_Comm everywhere = *static_cast<const MPI_Comm*>(servers);
  MPI_Group everybody = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  int range[1][3] = {{group.first, group.first + group.size - 1, 1}};
  check_mpi(MPI_Comm_group(everywhere, &everybody), "get the group of the servers");
  check_mpi(MPI_Group_range_incl(everybody, 1, range, &members), "choose the servers of a file");
  const int result = MPI_Comm_create_group(everywhere, members, kConnectTag, &comm);
  MPI_Group_free(&members);
  MPI_Group_free(&everybody);
  check_mpi(result, "connect the servers of a file");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, std::vector<Hint> hints)
    : host_(host), group_(group), timeout_ms_(timeout_ms), hints_(std::move(hints)) {}

// Nothing that a server awaits in a meeting comes any more: all have left.
void Team::Channel::forget_meeting() {
  for (MPI_Request& request : awaited) {
    int there = 0;
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    if (there != 0) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// After a time-out the communicator cannot be freed: other servers may still be waiting in it.
Team::~Team() {
  if (!broken_ || channel_ == nullptr) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) channel_->forget_meeting();
  (void)channel_.release();
}

// Polls with sleeps instead of spinning, because the servers waited for may need the core.
template <class Request>
void Team::wait_for(Request& request, const Deadline& until) {
  broken_ = true;  // reset on success
  for (int there = 0;;) {
    check_mpi(MPI_Test(&request, &there, MPI_STATUS_IGNORE), kDoing);
    if (there != 0) break;
    if (until.is_over()) fail_late(until.timeout_ms());
    ::usleep(kLookEveryUs);
  }
  broken_ = false;
}

// `begin` starts what is waited for; its request is never freed after a time-out, as MPI may still write to what it names.
template <class Begin>
void Team::bounded(std::int64_t timeout_ms, Begin&& begin) {
  broken_ = true;
  check_mpi(begin(channel_->request), kDoing);
  wait_for(channel_->request, Deadline(timeout_ms));
}

void Team::fail_late(std::int64_t timeout_ms) {
  broken_ = true;
  throw Failure("not all servers of the group came within " + std::to_string(timeout_ms) +
                    " ms, as set by turn-timeout; shared files cannot be continued: restart the run from the stored steps",
                kNoRemedy);
}

void Team::require_whole() const {
  if (broken_) throw Failure("a server of the group missed an earlier step; restart the run", kNoRemedy);
}

// Each server reports to the leader, which answers all when it has heard from all, within one limit. What a server still waits for when it
// gives up stays posted to the end of the run, and takes what comes late: MPI may give a communicator of the next run the number of this one,
// and deliver what is left over there.
void Team::meet(std::int64_t timeout_ms) {
  const MPI_Comm servers = *static_cast<const MPI_Comm*>(host_.communicator);
  const Deadline until(timeout_ms);
  std::vector<MPI_Request>& awaited = channel_->awaited;
  awaited.assign(leads() ? static_cast<std::size_t>(group_.size - 1) : 1, MPI_REQUEST_NULL);
  const auto send_to = [&](int to) {
    MPI_Request sent = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(nullptr, 0, MPI_CHAR, to, kMeetTag, servers, &sent), kDoing);
    wait_for(sent, until);
  };
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    const int from = leads() ? group_.first + 1 + static_cast<int>(i) : group_.leader();
    check_mpi(MPI_Irecv(nullptr, 0, MPI_CHAR, from, kMeetTag, servers, &awaited[i]), kDoing);
  }
  if (!leads()) send_to(group_.leader());
  for (MPI_Request& request : awaited) wait_for(request, until);
  for (int other = group_.first + 1; leads() && other < group_.first + group_.size; ++other) send_to(other);
}

void Team::barrier(std::int64_t timeout_ms) {
  bounded(timeout_ms, [&](MPI_Request& it) { return MPI_Ibarrier(channel_->comm, &it); });
}

// All waits come in pairs: a server that gives up in the first one, just before the last of the others comes, is missed in the second one.
// Nothing happens between the two, so nobody gives up in the second one but for a server that is dead. The creation of a communicator has
// no time-out of its own, and so begins after the second one.
void Team::gather() {
  require_whole();
  if (channel_ == nullptr) channel_ = std::make_unique<Channel>();
  if (channel_->comm == MPI_COMM_NULL) {
    meet(timeout_ms_);
    meet(kWorkTimes * timeout_ms_);
    channel_->connect(host_.communicator, group_);
  }
  barrier(timeout_ms_);
  barrier(timeout_ms_);
}

void Team::commit() {
  require_whole();
  barrier(kWorkTimes * timeout_ms_);
}

std::vector<std::string> Team::exchange(const std::string& mine) {
  require_whole();
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
  const std::string mine = encoded_result_of(task);
  if (broken_) result_in(mine);  // a message was late: the others find that out themselves
  std::vector<std::string> results;
  for (const std::string& text : exchange(mine)) results.push_back(result_in(text));
  return results;
}

std::string Team::run_on_leader(const std::function<std::string()>& task) {
  return run_on_all([&] { return leads() ? task() : std::string(); }).front();
}

Properties Team::file_access() const {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  MPI_Info info = MPI_INFO_NULL;
  if (!hints_.empty()) MPI_Info_create(&info);
  for (const Hint& hint : hints_) MPI_Info_set(info, hint.name.c_str(), hint.value.c_str());
  const herr_t set = H5Pset_fapl_mpio(access.id(), channel_->comm, info);  // makes copies
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  checked(set, "set the servers of the file");
  return access;
}

std::vector<std::string> Team::unused_hints(hid_t file) const {
  std::vector<std::string> unused;
  void* handle = nullptr;
  MPI_Info used = MPI_INFO_NULL;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || MPI_File_get_info(*static_cast<MPI_File*>(handle), &used) != MPI_SUCCESS)
    return unused;
  for (const Hint& hint : hints_) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int is_there = 0;
    MPI_Info_get(used, hint.name.c_str(), MPI_MAX_INFO_VAL, value, &is_there);
    if (is_there == 0 || hint.value != value) unused.push_back(hint.name + "=" + hint.value);
  }
  MPI_Info_free(&used);
  return unused;
}

Properties Team::collective_write() {
  Properties transfer(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_XFER)), "make the properties of a write");
  checked(H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE), "set a collective write");
  return transfer;
}

}  // namespace damaris::hdf5

#else

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse() { throw Error(DC_E_CONFIG, "this plugin was built with an HDF5 without MPI; use files=\"per-server\""); }

}  // namespace

struct Team::Channel {};

void check_can_write_together(const dc_host_t&, const std::string&) { refuse(); }
Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, std::vector<Hint> hints)
    : host_(host), group_(group), timeout_ms_(timeout_ms), hints_(std::move(hints)) {}
Team::~Team() = default;
void Team::gather() { refuse(); }
void Team::commit() { refuse(); }
void Team::send(int, Message, const Receive&) { refuse(); }
void Team::serve(const Receive&) { refuse(); }
void Team::serve_until(const std::function<bool()>&, const Receive&) { refuse(); }
void Team::serve_until_sent(const Receive&) { refuse(); }
std::vector<std::string> Team::run_on_all(const std::function<std::string()>&) { refuse(); }
std::string Team::run_on_leader(const std::function<std::string()>&) { refuse(); }
Properties Team::file_access() const { refuse(); }
std::vector<std::string> Team::unused_hints(hid_t) const { refuse(); }
Properties Team::collective_write() { refuse(); }

}  // namespace damaris::hdf5

#endif
