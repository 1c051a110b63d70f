// damaris-record: starts a program so that its I/O is recorded, by becoming it with a library preloaded.
// Used by: users, under mpirun or without it; one process for each process of the program.
// Before it: the shell or a launcher. After it: the program, with src/recorder in it.
#include <damaris/version.h>

#include <getopt.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "tools/command_line.hpp"
#include "tools/record/node_pool.hpp"
#include "tools/record/recorder_library.hpp"
#include "tools/record/recording_folder.hpp"
#include "tools/record/target_program.hpp"

namespace {

using namespace damaris;

constexpr char kHelp[] =
    "Usage: damaris record [-o DIR] [--force] [--server] PROGRAM [ARGUMENT...]\n"
    "       mpirun -n 3 damaris record -o run ./model\n"
    "       mpirun -n 64 damaris record --server --files 2 -o run ./model\n\n"
    "Records which file gets how many bytes from whom, and when, in an unchanged\n"
    "program that is linked dynamically: calls on files and streams, of MPI, MPI-IO,\n"
    "HDF5 and Damaris.\n\n"
    "  -o DIR      the folder of the recording (default: recording)\n"
    "  --force     replace the recording of another run that is there\n"
    "  --server    a server on each node writes for all processes there, instead of a\n"
    "              file for each of them\n"
    "  --files N   into how many files each server writes (default: 1)\n"
    "  --chunks N  memory of a server for each process, in MiB (default: 2)\n"
    "  --flush-together N\n"
    "              all processes of MPI_COMM_WORLD, each recorded so, agree at every N-th\n"
    "              collective call on it whether to flush, and flush at the same time\n"
    "  --version   print the version\n\n"
    "Then: damaris info DIR, damaris query DIR --files, damaris report DIR. The exit\n"
    "status is that of the program; 2 if it was not started.\n";

struct Options {
  std::string folder = "recording";
  bool force = false;
  bool server = false;
  record::PoolOptions pool;
  int flush_together = 0;  // 0: each process when its chunk is full
  std::vector<std::string> command;
};

int number_of(const char* option, const char* text, int most) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 1 || number > most)
    throw Error(DC_E_ARGUMENT, format("{} {} is no number from 1 to {}; see damaris record --help", option, text, most));
  return static_cast<int>(number);
}

// Options end where the program's name stands: what follows is the program's own.
Options options_of(int argc, char** argv) {
  const option known[] = {{"force", no_argument, nullptr, 'f'},
                          {"help", no_argument, nullptr, 'h'},
                          {"version", no_argument, nullptr, 'v'},
                          {"output", required_argument, nullptr, 'o'},
                          {"server", no_argument, nullptr, 's'},
                          {"files", required_argument, nullptr, 'n'},
                          {"flush-together", required_argument, nullptr, 't'},
                          {"chunks", required_argument, nullptr, 'c'},
                          {}};
  Options options;
  for (int one = 0; (one = ::getopt_long(argc, argv, "+:o:h", known, nullptr)) != -1;) {
    if (one == 'h') std::exit(std::fputs(kHelp, stdout) < 0 ? 1 : 0);
    if (one == 'v') std::exit(std::puts("damaris " DAMARIS_VERSION) < 0 ? 1 : 0);
    if (one == '?' || one == ':')
      throw Error(DC_E_ARGUMENT, format("the option '{}' is wrong; see damaris record --help", argv[optind - 1]));
    if (one == 'f') options.force = true;
    if (one == 'o') options.folder = optarg;
    if (one == 's') options.server = true;
    if (one == 't') options.flush_together = number_of("--flush-together", optarg, 1'000'000'000);
    if (one == 'n') options.pool.files = number_of("--files", optarg, 1024);
    if (one == 'c') options.pool.chunks = number_of("--chunks", optarg, 1024);
  }
  options.command.assign(argv + optind, argv + argc);
  if (options.command.empty())
    throw Error(DC_E_ARGUMENT, "name the program to record: damaris record -o DIR PROGRAM [ARGUMENT...]");
  return options;
}

// Without a server the recording is as whole, in more files.
void enter_pool(const Options& options, const std::string& raw, const std::string& id) try {
  ::setenv("DAMARIS_RECORDING_POOL", record::join_pool(raw, id, options.pool).c_str(), 1);
} catch (const Error& error) {
  ::unsetenv("DAMARIS_RECORDING_POOL");
  tools::print_error("damaris record", "no server, so this process writes a file of its own: " + error.sentence());
}

void become(Options& options) {
  const std::string program = record::find_program(options.command[0]);
  record::check_program(program);
  const std::string preload = record::recorder_library();
  const std::string id = record::enter_folder(options.folder, options.command, options.force);
  const std::string raw = std::filesystem::absolute(options.folder) / "raw";
  ::setenv("DAMARIS_RECORDING", raw.c_str(), 1);
  ::unsetenv("DAMARIS_RECORDING_POOL");
  if (options.server) enter_pool(options, raw, id);
  ::unsetenv("DAMARIS_RECORDING_FLUSH_TOGETHER");
  if (options.flush_together > 0) ::setenv("DAMARIS_RECORDING_FLUSH_TOGETHER", std::to_string(options.flush_together).c_str(), 1);
  const char* const before = std::getenv("LD_PRELOAD");
  ::setenv("LD_PRELOAD", before == nullptr || *before == '\0' ? preload.c_str() : (preload + ":" + before).c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& one : options.command) arguments.push_back(one.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw Error(DC_E_IO, format("cannot start '{}': {}", program, text_of_errno(errno)));
}

}  // namespace

int main(int argc, char** argv) try {
  Options options = options_of(argc, argv);
  become(options);
} catch (const Error& error) {
  tools::print_error("damaris record", error.sentence());
  return 2;
} catch (const std::exception& error) {
  tools::print_error("damaris record", error.what());
  return 2;
}
