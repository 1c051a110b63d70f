#include "team.hpp"

#include <damaris/error.hpp>

#include "../library.hpp"

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

constexpr int kTag = 7;  // of the making of a communicator; nothing else goes over the plugins' one
constexpr useconds_t kLookEveryUs = 20;

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
  const auto failed = [](const std::string& why, int error) { return Json{{"failed", why}, {"errno", error}}.dump(); };
  try {
    return Json{{"done", task()}}.dump();
  } catch (const Failure& failure) {
    return failed(failure.what(), failure.system_error());
  } catch (const Error& error) {
    return failed(error.sentence(), kSaysItAll);
  } catch (const std::bad_alloc&) {
    return failed("a server is out of memory; give the dedicated core more, or write less in one iteration", kSaysItAll);
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

struct Team::Channel {
  MPI_Comm comm = MPI_COMM_NULL;

  Channel(const void* servers, const Group& group) {
    const MPI_Comm all = *static_cast<const MPI_Comm*>(servers);
    MPI_Group everybody = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    int range[1][3] = {{group.first, group.first + group.size - 1, 1}};
    check(MPI_Comm_group(all, &everybody), "look at the servers");
    check(MPI_Group_range_incl(everybody, 1, range, &members), "choose the servers of a file");
    const int result = MPI_Comm_create_group(all, members, kTag, &comm);
    MPI_Group_free(&members);
    MPI_Group_free(&everybody);
    check(result, "connect the servers of a file");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Channel() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&comm);
  }
};

Team::Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms)
    : host_(host), group_(group), timeout_ms_(timeout_ms) {}

// Without the others the communicator cannot be freed: some of them may still wait in it.
Team::~Team() {
  if (broken_) (void)channel_.release();
}

void Team::gather() {
  if (broken_) throw Failure("a server of the group did not come to an earlier iteration", 0);
  if (channel_ == nullptr) channel_ = std::make_unique<Channel>(host_.communicator, group_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(channel_->comm, &request), "wait for the servers of a file");
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms_);
  for (int there = 0;;) {
    check(MPI_Test(&request, &there, MPI_STATUS_IGNORE), "wait for the servers of a file");
    if (there != 0) return;
    if (std::chrono::steady_clock::now() > until) break;
    ::usleep(kLookEveryUs);
  }
  broken_ = true;
  throw Failure("not all servers of the group came within " + std::to_string(timeout_ms_) + " ms, the turn-timeout", 0);
}

std::vector<std::string> Team::exchange(const std::string& mine) const {
  const auto members = static_cast<std::size_t>(group_.size);
  const int size = static_cast<int>(mine.size());
  std::vector<int> sizes(members), places(members);
  check(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, channel_->comm), "talk to the servers of a file");
  int all = 0;
  for (std::size_t i = 0; i < members; ++i) {
    places[i] = all;
    all += sizes[i];
  }
  std::string text(static_cast<std::size_t>(all), '\0');
  check(MPI_Allgatherv(mine.data(), size, MPI_CHAR, text.data(), sizes.data(), places.data(), MPI_CHAR, channel_->comm),
        "talk to the servers of a file");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < members; ++i)
    texts.push_back(text.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(sizes[i])));
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
