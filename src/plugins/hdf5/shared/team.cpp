#include "team.hpp"

#include <damaris/error.hpp>

#include "../file/handle.hpp"

#ifdef H5_HAVE_PARALLEL

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "core/base/json.hpp"

namespace damaris::hdf5 {
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
  // A path, as result or in a sentence, need not be UTF-8.
  const auto failed = [](const std::string& why, int error) { return text_with_bytes_of({{"failed", why}, {"errno", error}}); };
  try {
    return text_with_bytes_of({{"done", task()}});
  } catch (const Failure& failure) {
    return failed(failure.what(), failure.system_error());
  } catch (const Error& error) {
    return failed(error.sentence(), kNoRemedy);
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
                    kNoRemedy);
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
  if (broken_) throw Failure("a server of the group missed an earlier step; restart the run", kNoRemedy);
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
    const Json result = parse_with_bytes(text);
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

}  // namespace damaris::hdf5

#else

namespace damaris::hdf5 {
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

}  // namespace damaris::hdf5

#endif
