// damaris-manifest: prints what the manifest of a run says of its steps and their files.
// Used by: people, and scripts through jq.
// Before it: the logs of the manifest. After it: a table, or lines of JSON, on standard output.
#include <damaris/version.h>
#include <damaris/error.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "manifest/manifest.hpp"
#include "manifest/verify.hpp"
#include "tools/command_line.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string run;
  std::optional<std::int64_t> step;
  std::string variable;
  bool json = false;
};

// Names come from the manifest, which other users may have written.
void print(const std::string& line) { std::fputs((without_controls(line) + "\n").c_str(), stdout); }

std::string extents_of(const Box& box) {
  std::string text;
  for (int d = 0; d < box.ndims; ++d) text += (d == 0 ? "" : "x") + std::to_string(box.extent(d));
  return text.empty() ? "1" : text;
}

void print_files(const manifest::StepEntry& step) {
  for (const manifest::FileEntry& file : step.files) {
    print(format("  {}  {}", file.name, size_text(file.bytes)));
    for (const manifest::DatasetEntry& dataset : file.datasets)
      print(format("    {:24} {:>16} {:>10}{}", dataset.path, extents_of(dataset.box), size_text(dataset.stored_bytes),
                   dataset.min ? format("  {:g} to {:g}", *dataset.min, *dataset.max) : ""));
  }
}

// A line a step; with its files and their datasets if `whole`.
void print_step(const manifest::StepEntry& step, const std::vector<std::string>& why_partial, bool whole) {
  std::uint64_t stored = step.total.stored_bytes;
  for (const manifest::FileEntry& file : step.files) stored += file.bytes;
  print(format("step {:<10}{} {:<8} {:>4} server{} {:>10}  {}", step.step, step.time ? format(" time {:<10g}", *step.time) : "",
               why_partial.empty() ? "whole" : "partial", step.servers.size(), step.servers.size() == 1 ? " " : "s",
               size_text(stored), step.at));
  if (!whole) return;
  for (const std::string& why : why_partial) print("  partial: " + why);
  print_files(step);
}

int run(const Options& options) {
  const std::string basename = manifest::find_run(options.run);
  manifest::Manifest reader(basename);
  reader.read_on();
  const bool whole = options.step || !options.variable.empty();
  std::size_t shown = 0;
  bool is_damaged = !reader.damaged().empty();
  const auto complain = [&](const std::string& what) {
    is_damaged = true;
    std::fprintf(stderr, "damaris manifest: %s\n", without_controls(what).c_str());
  };
  for (const auto& [number, line] : reader.steps()) {
    if (options.step && number != *options.step) continue;
    manifest::StepEntry step = line;
    try {
      if (whole || options.json) step = reader.with_files(number, options.variable);
    } catch (const std::exception& error) {  // of this step alone
      complain(format("step {}: {}", number, error.what()));
      ++shown;
      continue;
    }
    if (!options.variable.empty() && step.files.empty()) continue;
    ++shown;
    if (options.json)
      std::fputs((text_of(manifest::to_json(step)) + "\n").c_str(), stdout);
    else
      print_step(step, reader.why_partial(number), whole);
  }
  for (const std::string& damage : reader.damaged()) complain(damage);
  if (shown == 0 && whole)
    throw Error(DC_E_NOT_STORED, format("{} has no {}{}; without options, damaris manifest lists its steps", basename,
                                        options.step ? format("step {}", *options.step) : "step",
                                        options.variable.empty() ? "" : " with '" + options.variable + "'"));
  return is_damaged ? 1 : 0;
}

void describe(tools::CommandLine& command, Options& options) {
  command.add_option("RUN", options.run, "The basename of <hdf5>, one of the run's files, or their folder")
      .required()
      .type_name("");
  command.add_option("--step", options.step, "Only this step, with its files and datasets").type_name("K");
  command.add_option("--variable", options.variable, "Only the datasets of this variable, such as fields/theta").type_name("V");
  command.add_flag("--json", options.json, "Print a line of JSON for each step, with its files, for jq");
  command.add_version("damaris " DAMARIS_VERSION);
  command.footer("Exit status: 0 printed, 1 there is no such step, or a record is damaged, 2 wrong usage.\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  tools::CommandLine command("Prints what the manifest of a run says of its steps and their files.", "damaris manifest");
  describe(command, options);
  return command.run(argc, argv, [&] { return run(options); });
}
