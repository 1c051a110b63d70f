#include "phases/options.hpp"

#include <CLI/CLI.hpp>

#include <cstring>
#include <iostream>

#include "phases/way.hpp"

namespace damaris::bench {

bool tell_ways(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--ways") != 0) return false;
  for (const std::string& way : way_names())
    if (why_not_built(way).empty()) std::cout << way << '\n';
  return true;
}

int parse(int argc, char** argv, bool speaks, Options& options) {
  CLI::App app("One run of one way of writing; bench_phases.py starts it, README.md beside it explains it.",
               "damaris-bench-phases");
  const auto size = CLI::AsSizeValue(false);
  app.add_option("way", options.way)->required()->check(CLI::IsMember(way_names()));
  app.add_flag("--ways", "Alone: print the ways that are built in, one a line");
  app.add_option("--bytes", options.bytes, "Of each process and phase, were all of them to compute")->required()->transform(size);
  app.add_option("--phases", options.phases)->required()->check(CLI::PositiveNumber);
  app.add_option("--compute", options.compute_s, "Processor time of a process and phase in s")->check(CLI::NonNegativeNumber);
  app.add_option("--transfer", options.transfer, "Bytes of a write call; 0: a whole field")->transform(size);
  app.add_option("--chunk", options.chunk, "Bytes of a chunk where chunks are packed")->required()->transform(size);
  app.add_option("--stripe", options.stripe, "striping_unit of MPI-IO in bytes; 0: the file system's")->transform(size);
  app.add_option("--groups", options.groups, "Files of grouped, writers of one-writer, dedicated cores of damaris")
      ->check(CLI::PositiveNumber);
  app.add_flag("--sync", options.sync, "The file ways: a phase ends when its files are durable; damaris syncs in any case");
  app.add_option("--fields", options.fields, "HDF5 file with groups of 3D float32 datasets")->check(CLI::ExistingFile);
  app.add_option("--folder", options.folder, "Where to write")->required()->check(CLI::ExistingDirectory);
  app.add_option("--results", options.results, "Folder for rank<R>.jsonl")->required()->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
    const std::string reason = why_not_built(options.way);
    if (speaks && !reason.empty()) std::cerr << "damaris-bench-phases: there is no way " << options.way << ": " << reason << '\n';
    return reason.empty() ? -1 : 2;
  } catch (const CLI::ParseError& error) {
    std::ostream silent(nullptr);
    const int status = speaks ? app.exit(error) : app.exit(error, silent, silent);
    return status == 0 ? 0 : 2;
  }
}

}  // namespace damaris::bench
