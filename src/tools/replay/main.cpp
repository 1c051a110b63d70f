// damaris-replay: does the I/O of a plan again, on a file system of the user's choice or in virtual time.
// Used by: users; one process, with a thread for each process of the plan.
// Before it: damaris plan, or a plan written by hand. After it: a table, JSON, a picture.
#include <damaris/version.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
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
#include "tools/replay/sums.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string plan, on, json, picture;
  int repeat = 1;
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

int work(const Options& options) {
  if (options.evaluate == !options.on.empty())
    throw tools::WrongUsage("say either --on DIR, to do the I/O there, or --evaluate, to compute what it takes");
  if (options.evaluate && !options.picture.empty()) throw tools::WrongUsage("a picture with -o shows a replay; give --on DIR");
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
    play(options, plan, times);
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
  line.add_option("--json", options.json, "write all figures there; - prints them instead of the table").type_name("FILE");
  line.add_option("-o", options.picture, "draw the errors: page.html, or .png, .svg, .pdf").type_name("FILE");
  line.add_option("--repeat", options.repeat, "how often (1); the table has the medians").range(1, 1000).type_name("N");
  line.add_flag("--keep", options.keep, "leave the files");
  line.add_version("damaris " DAMARIS_VERSION);
  line.footer("A replay on the file system of the recording shows its own error: it should take as\nlong as the program did.");
  return line.run(argc, argv, [&] { return work(options); });
}
