// The servers of a shared file among themselves: no wait is for ever, whoever is late, and messages arrive whole and in order.
#include "plugins/hdf5/shared/team.hpp"

#include <mpi.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "job.hpp"

namespace damaris::test {
namespace {

using hdf5::Team;

// This rank as a server of `size`; ranks beyond have no part in it.
class Member {
 public:
  explicit Member(int size, std::int64_t timeout_ms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &servers_);
    host_.communicator = &servers_;
    host_.server_index = rank_in(servers_);
    host_.server_count = size_of(servers_);
    if (host_.server_index < size) team_ = std::make_unique<Team>(host_, hdf5::Group{0, size}, timeout_ms);
  }
  ~Member() { wait_for_all(MPI_COMM_WORLD); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  Team* team() { return team_.get(); }
  int rank() const { return host_.server_index; }

 private:
  MPI_Comm servers_ = MPI_COMM_NULL;  // never freed: a server that was late may still be waiting in it
  dc_host_t host_ = {};
  std::unique_ptr<Team> team_;
};

std::string failure_of_gather(Team& team) {
  try {
    team.gather();
    return "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

// The last server comes when the first one has just given up, and the leader has not.
TEST_CASE("a server that gives up just before the last one comes leaves nobody waiting for ever") {
  constexpr std::int64_t kTimeoutMs = 600;
  Member member(3, kTimeoutMs);
  if (member.team() == nullptr) return;
  char gone = 0;
  if (member.rank() == 0) ::usleep(kTimeoutMs * 1000 / 2);
  if (member.rank() == 2) MPI_Recv(&gone, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const std::string said = failure_of_gather(*member.team());
  if (member.rank() == 1) MPI_Send(&gone, 1, MPI_CHAR, 2, 5, MPI_COMM_WORLD);
  CHECK_THAT(said, Catch::Contains("not all servers of the group came within "));
  CHECK_FALSE(member.team()->is_whole());
  CHECK_THAT(failure_of_gather(*member.team()), Catch::Contains("missed an earlier step"));
}

TEST_CASE("a meeting that has failed leaves nothing to a later run, whose communicator may have the number of the earlier one") {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm servers = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &servers);
    dc_host_t host = {};
    host.communicator = &servers;
    host.server_index = rank_in(servers);
    host.server_count = size_of(servers);
    {
      Team first(host, hdf5::Group{0, 4}, 100);
      if (host.server_index == 2) ::usleep(300'000);
      CHECK_FALSE(failure_of_gather(first).empty());
      wait_for_all(MPI_COMM_WORLD);  // all have left
    }
    MPI_Comm_free(&servers);
    MPI_Comm_dup(MPI_COMM_WORLD, &servers);
    {
      Team next(host, hdf5::Group{0, 4}, 20'000);
      CHECK(failure_of_gather(next).empty());
      CHECK(next.run_on_all([&] { return std::to_string(host.server_index); }) == std::vector<std::string>{"0", "1", "2", "3"});
      wait_for_all(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&servers);
  }
}

Team::Message message_of(int number, std::size_t bytes) {
  Team::Message message(sizeof number + bytes, std::byte(number));
  std::memcpy(message.data(), &number, sizeof number);
  return message;
}

TEST_CASE("messages between servers arrive whole and in their order, small and large ones, all to all") {
  constexpr int kMembers = 4, kEach = 40;
  Member member(kMembers, 20'000);
  if (member.team() == nullptr) return;
  Team& team = *member.team();
  team.gather();
  std::array<int, kMembers> next = {};
  int received = 0;
  bool right = true;
  const auto size_of_message = [](int number) {
    return number % 10 == 0 ? std::size_t{6} << 20 : static_cast<std::size_t>(number);
  };
  const Team::Receive receive = [&](int from, const Team::Message& message) {
    const int number = next.at(static_cast<std::size_t>(from))++;
    right = right && message == message_of(number, size_of_message(number));
    ++received;
  };
  for (int number = 0; number < kEach; ++number)
    for (int to = 0; to < kMembers; ++to)
      if (to != member.rank()) team.send(to, message_of(number, size_of_message(number)), receive);
  team.serve_until([&] { return received == kEach * (kMembers - 1); }, receive);
  team.serve_until_sent(receive);
  CHECK(right);
  CHECK(team.run_on_all([] { return std::string("there"); }).size() == kMembers);
}

TEST_CASE("a message that never comes is waited for within a limit, and whoever waited says that again at once") {
  Member member(2, 30);
  if (member.team() == nullptr) return;
  Team& team = *member.team();
  bool whole = true;
  try {
    team.gather();
    if (member.rank() == 0) team.serve_until([] { return false; }, [](int, const Team::Message&) {});
    team.run_on_all([] { return std::string(); });
  } catch (const Failure& failure) {
    whole = false;
    CHECK_THAT(failure.what(), Catch::Contains("not all servers of the group came within "));
  }
  CHECK_FALSE(whole);
  CHECK_THROWS_AS(team.run_on_all([] { return std::string(); }), Failure);
}

TEST_CASE("a hint for MPI-IO that the library does not use for a file is named, and no other one") {
  Job job(4);
  MPI_Comm servers = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &servers);
  dc_host_t host = {};
  host.communicator = &servers;
  host.server_index = rank_in(servers);
  host.server_count = size_of(servers);
  Team team(host, hdf5::Group{0, 4}, 20'000, {{"no_such_hint", "7"}, {"cb_nodes", "1"}});
  team.gather();
  {
    hdf5::File file(H5Fcreate(job.file("hints.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, team.file_access().id()), "create");
    const std::vector<std::string> unused = team.unused_hints(file.id());
#ifdef MPICH_VERSION  // OMPIO gives back also what it does not know
    CHECK(std::count(unused.begin(), unused.end(), "no_such_hint=7") == 1);
#endif
    CHECK(std::count(unused.begin(), unused.end(), "cb_nodes=1") == 0);
  }
  wait_for_all(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace damaris::test
