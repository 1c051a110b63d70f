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

// Over the plugins' communicator goes nothing else than these.
constexpr int kConnectTag = 7;  // of the making of a communicator
constexpr int kMeetTag = 8;
constexpr useconds_t kLookEveryUs = 20;
constexpr std::int64_t kWorkTimes = 10;  // of the timeout: for what others may do between two exchanges

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

// What went well, or a failure, as text.
std::string outcome_of(const std::function<std::string()>& task) {
  // A path need not be UTF-8, and a sentence must get through.
  const auto failed = [](const std::string& why, int error) { return text_of({{"failed", why}, {"errno", error}}); };
  try {
    return text_of({{"done", task()}});
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

}  // namespace

void check_can_write_together(const dc_host_t& host, const std::string& files) {
  const auto refuse = [&](const std::string& why) { throw Error(DC_E_CONFIG, "files=\"" + files + "\" is not possible: " + why); };
  const std::string parallel = file_of(reinterpret_cast<void*>(&H5Pset_fapl_mpio)),
                    used = file_of(reinterpret_cast<void*>(&H5open));
  if (host.communicator == nullptr) refuse("the servers have no MPI; start with dc_mpi_initialize, or say per-server");
  if (parallel != used)
    refuse("the program brings an HDF5 of its own (" + used + "), which hides the parallel one; link the program with " + parallel +
           ", or say per-server");
}

// What is under way belongs to it: after a time-out it is never freed, as MPI may still write into it.
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
  // Before there is a communicator it is a message, over one that lives on and may be another run's next time.
  void give_up() {
    if (comm != MPI_COMM_NULL) return;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

void Team::Channel::connect(const void* servers, const Group& group) {
  const MPI_Comm everywhere = *static_cast<const MPI_Comm*>(servers);
  MPI_Group everybody = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  int range[1][3] = {{group.first, group.first + group.size - 1, 1}};
  check(MPI_Comm_group(everywhere, &everybody), "look at the servers");
  check(MPI_Group_range_incl(everybody, 1, range, &members), "choose the servers of a file");
  const int result = MPI_Comm_create_group(everywhere, members, kConnectTag, &comm);
  MPI_Group_free(&members);
  MPI_Group_free(&everybody);
  check(result, "connect the servers of a file");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms)
    : host_(host), group_(group), timeout_ms_(timeout_ms) {}

// Without the others the communicator cannot be freed: some of them may still wait in it.
Team::~Team() {
  if (broken_) (void)channel_.release();
}

// Looks now and then instead of spinning: the core may be needed by those one waits for.
template <class Begin>
void Team::bounded(std::int64_t timeout_ms, Begin&& begin) {
  constexpr const char* kDoing = "talk to the servers of a file";
  broken_ = true;  // unless it ends well
  check(begin(channel_->request), kDoing);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (int there = 0;;) {
    check(MPI_Test(&channel_->request, &there, MPI_STATUS_IGNORE), kDoing);
    if (there != 0) break;
    if (std::chrono::steady_clock::now() > until) {
      channel_->give_up();
      throw Failure("not all servers of the group came within " + std::to_string(timeout_ms) +
                        " ms, by the turn-timeout; files of several servers end here, start the run again from what is stored",
                    kNoRemedy);
    }
    ::usleep(kLookEveryUs);
  }
  broken_ = false;
}

// Nothing bounds the making of a communicator. So each server first reports to the leader, and the leader then answers all.
void Team::meet() {
  const MPI_Comm servers = *static_cast<const MPI_Comm*>(host_.communicator);
  const auto hear = [&](int from) {
    bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Irecv(nullptr, 0, MPI_CHAR, from, kMeetTag, servers, &it); });
  };
  const auto tell = [&](int to) {
    bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Isend(nullptr, 0, MPI_CHAR, to, kMeetTag, servers, &it); });
  };
  if (!leads()) return tell(group_.leader()), hear(group_.leader());
  for (int other = group_.first + 1; other < group_.first + group_.size; ++other) hear(other);
  for (int other = group_.first + 1; other < group_.first + group_.size; ++other) tell(other);
}

void Team::barrier() {
  bounded(timeout_ms_, [&](MPI_Request& it) { return MPI_Ibarrier(channel_->comm, &it); });
}

// Twice: a server that comes after the others have given it up finds the first barrier open, and nobody at the second.
void Team::gather() {
  if (broken_) throw Failure("a server of the group did not come to an earlier step; start the run again", kNoRemedy);
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

std::vector<std::string> Team::together(const std::function<std::string()>& task) {
  std::vector<std::string> results;
  for (const std::string& text : exchange(outcome_of(task))) {
    const Json outcome = Json::parse(text);
    if (outcome.contains("failed")) throw Failure(outcome.at("failed").get<std::string>(), outcome.at("errno").get<int>());
    results.push_back(outcome.at("done").get<std::string>());
  }
  return results;
}

std::string Team::by_leader(const std::function<std::string()>& task) {
  return together([&] { return leads() ? task() : std::string(); }).front();
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
  checked(H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE), "ask for a collective write");
  return transfer;
}

}  // namespace damaris::hdf5

#else

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse() { throw Error(DC_E_CONFIG, "this plugin was built with an HDF5 without MPI; say files=\"per-server\""); }

}  // namespace

struct Team::Channel {};

void check_can_write_together(const dc_host_t&, const std::string&) { refuse(); }
Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms)
    : host_(host), group_(group), timeout_ms_(timeout_ms) {}
Team::~Team() = default;
void Team::gather() { refuse(); }
std::vector<std::string> Team::together(const std::function<std::string()>&) { refuse(); }
std::string Team::by_leader(const std::function<std::string()>&) { refuse(); }
Properties Team::file_access() const { refuse(); }
Properties Team::collective_write() { refuse(); }

}  // namespace damaris::hdf5

#endif
