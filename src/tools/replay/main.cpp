// damaris-replay: does the I/O of a plan again, on a file system of the user's choice or in virtual time.
// Used by: users; one process, with a thread for each process of the plan.
// Before it: damaris plan, or a plan written by hand. After it: a table, JSON, a picture.
#include <damaris/version.h>

#include <cstdio>
#include <string>

#include "core/base/json.hpp"
#include "replay/reader.hpp"
#include "tools/command_line.hpp"
#include "tools/replay/evaluation.hpp"
#include "tools/replay/sums.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string plan, json;
  bool evaluate = false;
};

int evaluate(const Options& options) {
  const replay::Plan plan = replay::read_plan_file(options.plan);
  const replay::Times times = replay::evaluate(plan);
  if (options.json != "-") std::fputs(replay::evaluation_text(plan, times).c_str(), stdout);
  if (!options.json.empty()) replay::write_json(options.json, replay::evaluation_json(plan, times));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  tools::CommandLine line("Does the I/O of a plan again: on another file system, or in virtual time.", "damaris replay");
  line.add_option("plan", options.plan, "the plan of damaris plan, or one written by hand").required().type_name("PLAN");
  line.add_flag("--evaluate", options.evaluate, "only compute what it takes with the recorded times of its I/O");
  line.add_option("--json", options.json, "write all figures there; - prints them instead of the table").type_name("FILE");
  line.add_version("damaris " DAMARIS_VERSION);
  return line.run(argc, argv, [&] { return evaluate(options); });
}
