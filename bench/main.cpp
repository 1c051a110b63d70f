// damaris-bench: what the budgets of docs/performance.md are measured with. Reached as `damaris bench` too.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "machine.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "tools/command_line.hpp"
#include "verbs.hpp"

namespace {

using damaris::tools::CommandLine;

struct Options {
  std::string json, folder, fields;
  bool quick = false;
  int clients = 0;
};

void finish(const Options& options, const damaris::Json& machine, const damaris::bench::Report& report) {
  std::printf("\n");
  damaris::bench::print_rows(report);
  const double load = machine.at("load_1min_at_start");
  if (load > 0.5) std::printf("\nload at the start: %.1f; others use this machine: look at the ratios.\n", load);
  if (options.json.empty()) return;
  damaris::Json json = damaris::bench::to_json(machine, report);
  json["quick"] = options.quick;
  damaris::bench::write_json(options.json, json);
}

// Now, not after all runs.
std::string folder_missing(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() || std::filesystem::is_directory(folder) ? "" : "there is no folder " + folder.string();
}

void add_options(CommandLine& verb, Options& options) {
  verb.add_option("--json", options.json, "Write machine, rows and details to this file").check(folder_missing);
  verb.add_flag("--quick", options.quick, "Few samples: only checks that everything runs; the figures mean little");
}

void add_folder(CommandLine& verb, Options& options) {
  verb.add_option("--folder", options.folder, "Where the files are written (default: the system's temporary folder)")
      .existing_folder();
}

void add_write(CommandLine& command, Options& options) {
  CommandLine write = command.add_subcommand(
      "write", "dc_write against memcpy into shared memory and the classic parts; servers idle and busy; 1 to N clients");
  add_options(write, options);
  add_folder(write, options);
  write
      .add_option("--clients", options.clients,
                  "Measure 1, 2, 4, ... and this many clients at a time (default: as many as have a core beside the server's)")
      .shown_range(1, damaris::bench::kMostClients);
}

void add_log(CommandLine& command, Options& options) {
  CommandLine log = command.add_subcommand(
      "log", "Appends to a log against memcpy, and 64 processes against a file for each; bandwidth until the buffer is full");
  add_options(log, options);
  add_folder(log, options);
}

#if DAMARIS_BENCH_STORAGE
void add_reduce(CommandLine& command, Options& options) {
  CommandLine reduce =
      command.add_subcommand("reduce", "Compression before HDF5 against HDF5's own shuffle and deflate 1, by CPU time");
  add_options(reduce, options);
  reduce.add_option("--fields", options.fields, "HDF5 file with groups of 3D float32 datasets (default: a small slice of CM1's)")
      .existing_file();
  add_folder(reduce, options);
}

void add_persist(CommandLine& command, Options& options) {
  CommandLine persist = command.add_subcommand("persist", "Storing a step against pwrite, and fsync, of the same bytes");
  add_options(persist, options);
  add_folder(persist, options);
}

void add_never_stops(CommandLine& command, Options& options) {
  CommandLine never_stops = command.add_subcommand(
      "never-stops", "Write phases while the storage hangs, is slow, or a plugin sleeps, against quiet ones");
  add_options(never_stops, options);
  add_folder(never_stops, options);
}

void add_slots(CommandLine& command, Options& options) {
  CommandLine slots = command.add_subcommand("slots", "Four servers on a storage with one bottleneck, with and without turns");
  add_options(slots, options);
  add_folder(slots, options);
}
#endif

damaris::bench::Report run(const CommandLine& command, const Options& options) {
  if (command.got_subcommand("write")) return damaris::bench::run_write(options.quick, options.folder, options.clients);
  if (command.got_subcommand("log")) return damaris::bench::run_log(options.quick, options.folder);
#if DAMARIS_BENCH_STORAGE
  if (command.got_subcommand("never-stops")) return damaris::bench::run_never_stops(options.quick, options.folder);
  if (command.got_subcommand("slots")) return damaris::bench::run_slots(options.quick, options.folder);
  if (command.got_subcommand("persist")) return damaris::bench::run_persist(options.quick, options.folder);
  if (command.got_subcommand("reduce")) return damaris::bench::run_reduce(options.quick, options.folder, options.fields);
#endif
  return damaris::bench::run_queue(options.quick);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CommandLine command("Measures what Damaris costs, as ratios inside one run, against what it replaces.", "damaris-bench");
  add_write(command, options);
  add_log(command, options);
  CommandLine queue = command.add_subcommand("queue", "An event against a boost message_queue message, 1 to 3 producers");
  add_options(queue, options);
#if DAMARIS_BENCH_STORAGE
  add_reduce(command, options);
  add_persist(command, options);
  add_slots(command, options);
  add_never_stops(command, options);
#endif
  command.footer(
      "Pins one client and one server to the first two cores it may use, several clients to the first ones and their server to "
      "the\n"
      "last. In the source tree there are also: ./dev bench phases, cm1, compression, and all for everything with a page of "
      "pictures.\n"
      "Exit status: 0 success, 1 a failure, 2 wrong usage, 130 interrupted.");
  if (const std::optional<int> status = command.parse(argc, argv)) return *status;
  try {
    ::setenv("DAMARIS_JOB", ("bench-" + std::to_string(::getpid())).c_str(), 1);  // beside other runs, and beside other benchmarks
    damaris::bench::catch_interrupts();
    const damaris::Json machine = damaris::bench::describe_machine();
    finish(options, machine, run(command, options));
    return 0;
  } catch (const std::exception& error) {
    if (damaris::bench::was_interrupted()) {  // whatever it led to: a terminal's interrupt ends the servers, too
      std::fprintf(stderr, "damaris-bench: interrupted; nothing is left running\n");
      return 130;
    }
    std::fprintf(stderr, "damaris-bench: %s\n", error.what());
    return 1;
  }
}
