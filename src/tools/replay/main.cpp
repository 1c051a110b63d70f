// damaris-replay: does the I/O of a plan again, on a file system of the user's choice or in virtual time.
// Used by: users; one process, with a thread for each process of the plan.
// Before it: damaris plan, or a plan written by hand. After it: a table, JSON, a picture.
#include <damaris/version.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "replay/player.hpp"
#include "replay/reader.hpp"
#include "tools/command_line.hpp"
#include "tools/replay/error_report.hpp"
#include "tools/replay/evaluation.hpp"
#include "tools/replay/picture.hpp"
#include "tools/replay/ranked.hpp"
#include "tools/replay/sums.hpp"
#include "tools/replay/way_report.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string plan, on, json, picture, way;
  int repeat = 1;
  std::optional<std::int64_t> cores;    // of a node that are servers
  std::optional<std::int64_t> scaling;  // %
  bool evaluate = false, keep = false;
};

std::atomic<int> interrupted{0};  // the signal

void heed_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { interrupted = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit of files' sizes fails instead
}

// On a terminal, one line that is written over.
class Progress {
 public:
  Progress(int repeats, std::size_t operations)
      : repeats_(repeats), operations_(operations), is_shown_(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() { show(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void making(int repeat) { show(format("replay {} of {}: making the files", repeat, repeats_)); }
  void playing(int repeat, std::size_t done) {
    show(format("replay {} of {}: {:.0f} %", repeat, repeats_,
                100.0 * static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(operations_, 1))));
  }

 private:
  void show(const std::string& line) const {
    if (is_shown_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
  }

  int repeats_;
  std::size_t operations_;
  bool is_shown_;
};

void deliver(const Options& options, const std::string& text, const Json& json) {
  if (options.json != "-") std::fputs(text.c_str(), stdout);
  if (!options.json.empty()) replay::write_json(options.json, json);
  if (!options.picture.empty()) replay::draw(json, options.picture);
}

void play(const Options& options, const replay::Plan& plan, const replay::Times& times) {
  replay::ErrorReport report(plan, times, options.on);
  replay::PlayFolder folder(options.on, plan);
  {
    Progress progress(options.repeat, plan.operations.size());
    for (int i = 1; i <= options.repeat; ++i) {
      if (i > 1) folder.clear();
      progress.making(i);
      folder.fill(interrupted);
      report.add(replay::play(plan, folder, interrupted, [&](std::size_t done) { progress.playing(i, done); }));
    }
  }
  if (options.keep) folder.keep();
  folder.remove();
  if (options.keep) std::fprintf(stderr, "the files are in %s\n", folder.path().c_str());
  deliver(options, report.text(), report.json());
}

std::optional<replay::Way> way_of(const Options& options) {
  if (options.way.empty()) return {};
  const auto found = std::find(std::begin(replay::kWayNames), std::end(replay::kWayNames), options.way);
  if (found == std::end(replay::kWayNames))
    throw tools::WrongUsage(format("--as {}: there is no such way; known: {}", options.way, join(replay::kWayNames, ", ")));
  return static_cast<replay::Way>(found - std::begin(replay::kWayNames));
}

// The number of cores of the smallest node: one for each of its recorded processes.
std::uint32_t cores_of_node(const replay::Plan& plan) {
  std::map<std::string, std::set<std::string>> nodes;
  for (const replay::Process& one : plan.processes)
    nodes[one.host].insert(one.pid.empty() ? format("process {}", one.number) : one.pid);
  std::size_t fewest = plan.processes.size();
  for (const auto& [host, processes] : nodes) fewest = std::min(fewest, processes.size());
  return static_cast<std::uint32_t>(fewest);
}

// How many cores of each node serve, and how much longer the others compute.
replay::WaySetting setting_of(const Options& options, const replay::Plan& plan) {
  replay::WaySetting setting;
  setting.way = *way_of(options);
  setting.folder = options.on;
  if (setting.way != replay::Way::dedicated) return setting;
  const std::uint32_t processes = cores_of_node(plan);
  setting.cores = static_cast<std::uint32_t>(options.cores.value_or(1));
  if (setting.cores >= processes)
    throw Error(DC_E_CONFIG,
                format("{}: {} of a node's {} cores cannot serve, as nobody would compute; give fewer with --cores, or record "
                       "the program with more processes",
                       plan.name, setting.cores, processes));
  setting.servers = setting.cores * static_cast<std::uint32_t>(replay::nodes_of(plan).size());
  const double scaling = static_cast<double>(options.scaling.value_or(100)) / 100;
  setting.stretch = 1 + scaling * setting.cores / (processes - setting.cores);
  return setting;
}

// Removes the written outputs, which are no files of the plan.
class OutputsFolder {
 public:
  OutputsFolder(const replay::PlayFolder& folder, const std::string& name, bool keeps)
      : path_(std::filesystem::path(folder.path()) / name), keeps_(keeps) {}
  ~OutputsFolder() {
    if (!keeps_) clear();
  }
  OutputsFolder(const OutputsFolder&) = delete;
  OutputsFolder& operator=(const OutputsFolder&) = delete;

  void clear() const {
    std::error_code none;
    for (const auto& one : std::filesystem::directory_iterator(path_, none)) std::filesystem::remove_all(one.path(), none);
  }

 private:
  const std::filesystem::path path_;
  const bool keeps_;
};

void play_as(const Options& options, const replay::Plan& plan, const replay::Times& times) {
  replay::WaySetting setting = setting_of(options, plan);
  const replay::Outputs outputs = replay::rewrite(plan, setting.way, setting.stretch);
  replay::evaluate(outputs.plan);
  if (setting.servers > 0) setting.buffer_bytes = replay::buffer_for(outputs, plan.processes.size() / setting.servers + 1);
  replay::WayReport report(setting, outputs, times.total);
  replay::PlayFolder folder(options.on, outputs.plan);
  {
    const OutputsFolder made(folder, outputs.folder, options.keep);
    Progress progress(options.repeat, outputs.plan.operations.size());
    for (int i = 1; i <= options.repeat; ++i) {
      if (i > 1) made.clear();
      if (i > 1) folder.clear();
      progress.making(i);
      folder.fill(interrupted);
      progress.playing(i, 0);
      double stored_s = 0;
      const auto played =
          setting.way == replay::Way::file_per_process
              ? replay::play(outputs.plan, folder, interrupted, [&](std::size_t done) { progress.playing(i, done); })
              : replay::play_ranked({options.plan, setting.way, setting.stretch, setting.cores, setting.buffer_bytes}, outputs,
                                    folder, interrupted, stored_s);
      report.add(played, stored_s);
    }
  }
  if (options.keep) folder.keep();
  folder.remove();
  if (options.keep) std::fprintf(stderr, "the files are in %s\n", folder.path().c_str());
  deliver(options, report.text(), report.json());
}

int work(const Options& options) {
  if (options.evaluate == !options.on.empty())
    throw tools::WrongUsage("say either --on DIR, to do the I/O there, or --evaluate, to compute what it takes");
  if (options.evaluate && !options.picture.empty()) throw tools::WrongUsage("a picture with -o shows a replay; give --on DIR");
  if (options.evaluate && !options.way.empty()) throw tools::WrongUsage("--as needs I/O; give --on DIR in place of --evaluate");
  if (!options.way.empty() && !options.picture.empty())
    throw tools::WrongUsage("a picture with -o shows how far a replay is off; leave out --as");
  if (options.cores && options.way != "dedicated") throw tools::WrongUsage("--cores says how many serve; give --as dedicated");
  if (options.scaling && options.way != "dedicated")
    throw tools::WrongUsage("--scaling says how much longer the others compute; give --as dedicated");
  way_of(options);
  replay::check_picture(options.picture);
  for (const std::string& file : {options.picture, options.json}) replay::check_folder_of(file);
  const replay::Plan plan = replay::read_plan_file(options.plan);
  const replay::Times times = replay::evaluate(plan);
  if (options.evaluate) {
    deliver(options, replay::evaluation_text(plan, times), replay::evaluation_json(plan, times));
    return 0;
  }
  heed_signals();
  try {
    options.way.empty() ? play(options, plan, times) : play_as(options, plan, times);
  } catch (const Error& error) {
    if (error.code() != DC_E_STOPPED) throw;
    tools::print_error("damaris replay", format("interrupted; '{}' is as it was before", options.on));
    return 128 + interrupted;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  tools::CommandLine line("Does the I/O of a plan again: on another file system, or in virtual time.", "damaris replay");
  line.add_option("plan", options.plan, "the plan of damaris plan, or one written by hand").required().type_name("PLAN");
  line.add_option("--on", options.on, "do the I/O there, in a folder of its own").type_name("DIR");
  line.add_flag("--evaluate", options.evaluate, "only compute what it takes with the recorded times of its I/O");
  line.add_option("--as", options.way,
                  "with its outputs written by dedicated cores, by collective I/O, or as a file for each process")
      .type_name("dedicated|collective|file-per-process");
  line.add_option("--cores", options.cores, "with --as dedicated: how many of each node serve (1)").range(1, 1000).type_name("N");
  line.add_option(
          "--scaling", options.scaling,
          "with --as dedicated: how far the program scales (100): N-D of a node's N cores take 1 + PERCENT/100 D/(N-D) of the time")
      .range(0, 100)
      .type_name("PERCENT");
  line.add_option("--json", options.json, "write all figures there; - prints them instead of the table").type_name("FILE");
  line.add_option("-o", options.picture, "draw the errors: page.html, or .png, .svg, .pdf").type_name("FILE");
  line.add_option("--repeat", options.repeat, "how often (1); the table has the medians").range(1, 1000).type_name("N");
  line.add_flag("--keep", options.keep, "leave the files");
  line.add_version("damaris " DAMARIS_VERSION);
  line.footer("A replay on the file system of the recording shows its own error: it should take as\nlong as the program did.");
  return line.run(argc, argv, [&] { return work(options); });
}
