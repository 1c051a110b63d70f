// One run of Damaris inside a test program that is itself an MPI program: its ranks, its virtual nodes, its folder, its regions.
// Used by: MPI tests, on every rank of the program; ranks that are not part of the run only wait for its end.
// Before it: catch_mpi_main. After it: the recorder plugin's logs, read by any rank after everybody has left the run.
#pragma once

#include <damaris/damaris_mpi.h>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace damaris::test {

inline const std::string kData =
    "<data><parameter name='n' type='int' value='16'/><layout name='line' type='double' dimensions='n'/>"
    "<variable name='x' layout='line'/></data>";
inline const std::string kRecorder = "<plugin name='recorder' using='damaris_test_recorder.so'/>";

// `cores` dedicated cores; `more` stands inside <architecture>, `rest` behind the data.
inline std::string xml(int cores, const std::string& rest = kRecorder, const std::string& more = "<buffer size='1MiB'/>") {
  return "<simulation name='job'><architecture><dedicated cores='" + std::to_string(cores) + "'/>" + more + "</architecture>" +
         kData + rest + "</simulation>";
}

inline int rank_in(MPI_Comm communicator) {
  int rank = -1;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
inline int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

// Waits for all ranks without spinning: MPICH does, and the cores are few.
inline void wait_for_all(MPI_Comm communicator) {
  MPI_Request request;
  MPI_Ibarrier(communicator, &request);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0;) ::usleep(500);
}

struct Started {
  int code = DC_OK;
  std::string sentence;
  MPI_Comm clients = MPI_COMM_NULL;
  int is_client = -1;
};

class Job {
 public:
  // Collective over MPI_COMM_WORLD, as the destructor. The first `ranks` ranks take part, on virtual nodes by `nodes` ("3,5").
  explicit Job(int ranks, const std::string& nodes = "") {
    const int rank = rank_in(MPI_COMM_WORLD);
    REQUIRE(ranks <= size_of(MPI_COMM_WORLD));
    std::array<char, 256> name = {};
    if (rank == 0) {
      const std::string pattern = (std::filesystem::temp_directory_path() / "damaris_job_XXXXXX").string();
      pattern.copy(name.data(), name.size() - 1);
      if (::mkdtemp(name.data()) == nullptr) std::abort();
    }
    MPI_Bcast(name.data(), name.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder_ = name.data();
    ::setenv("DAMARIS_JOB", folder_.filename().c_str(), 1);
    ::setenv("DAMARIS_TEST_LOG", file("log").c_str(), 1);
    ::setenv("DAMARIS_RANKS_PER_NODE", nodes.c_str(), 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : 1, rank, &world_);
    member_ = rank < ranks;
  }
  ~Job() {
    MPI_Comm_free(&world_);
    together();
    if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::remove_all(folder_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool member() const { return member_; }
  MPI_Comm world() const { return world_; }
  int rank() const { return rank_in(world_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name), std::ios::binary) << text; }
  // Everybody waits for everybody, ranks outside the run too.
  void together() const { wait_for_all(MPI_COMM_WORLD); }

  // Starts with this content in job.xml, or with the file `path`. A server comes back when the run is over.
  Started start(const std::string& text) const {
    if (rank() == 0) write("job.xml", text);
    wait_for_all(world_);
    return start_with(file("job.xml"));
  }
  Started start_with(const std::string& path) const {
    Started started;
    started.code = dc_mpi_initialize(path.c_str(), world_, &started.clients, &started.is_client);
    started.sentence = dc_last_error();
    return started;
  }

  // The lines of server `server`'s recorder that contain `part`.
  std::vector<std::string> lines(int server, const std::string& part = "") const {
    std::ifstream log(file("log.s" + std::to_string(server)));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);)
      if (line.find(part) != std::string::npos) found.push_back(line);
    return found;
  }
  // What is in /dev/shm of this run.
  std::vector<std::string> regions() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().find("." + folder_.filename().string() + ".") != std::string::npos)
        found.push_back(entry.path().string());
    return found;
  }

 private:
  std::filesystem::path folder_;
  MPI_Comm world_ = MPI_COMM_NULL;
  bool member_ = false;
};

// What is the same on all ranks of `communicator` is returned; else the test fails.
inline std::string same_on_all(MPI_Comm communicator, const std::string& mine) {
  std::vector<char> text(4096, '\0');
  mine.copy(text.data(), text.size() - 1);
  MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, communicator);
  CHECK(mine == text.data());
  return text.data();
}

}  // namespace damaris::test
