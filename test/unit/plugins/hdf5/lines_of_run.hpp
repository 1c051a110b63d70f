// A run whose views are written from lines of a manifest, without files of servers.
// Used by: tests of the views, one thread.
// Before it: steps as lines. After it: ReadFile and other readers.
#pragma once

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/views/run_views.hpp"
#include "support/temp_folder.hpp"
#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/hdf5/read_file.hpp"

namespace damaris::test {

using hdf5::RunViews;
using std::chrono::seconds;

// A clock of which each look takes some time: a view is looked at before and after it is written.
inline Clock::time_point the_time;
inline seconds each_look;
inline Clock::time_point look() { return the_time += each_look; }

inline std::string line_of(std::int64_t step, std::optional<double> scale = {}) {
  manifest::DatasetEntry dataset;
  dataset.path = dataset.variable = "v";
  dataset.has_position = true;
  dataset.box.ndims = 1;
  dataset.box.high[0] = 2;
  dataset.scale = scale;
  if (scale) dataset.min = dataset.max = dataset.offset = 1;
  manifest::StepEntry record;
  record.step = step;
  record.files.resize(1);
  record.files[0].name = "storm.node7.s0.i" + std::to_string(step) + ".h5";
  record.files[0].datasets = {dataset};
  return manifest::to_json(record).dump() + "\n";
}

struct LinesOfRun {
  LinesOfRun() : host(damaris::test::Settings{}, variables) {}

  std::string record() const { return folder.file("storm.jsonl"); }
  void add_step(std::optional<double> scale = {}) { std::ofstream(record(), std::ios::app) << line_of(steps++, scale); }
  int complete() const { return ReadFile(folder.file("storm.h5")).attribute<std::int32_t>("/", "complete")[0]; }
  std::size_t shown() const { return ReadFile(folder.file("storm.h5")).extents("v")[0]; }

  hdf5::QuietErrors quiet;
  TempFolder folder;
  std::vector<dc_variable_info_t> variables = {variable_info(0, "v", DC_INT32, 1)};
  FakeHost host;
  std::int64_t steps = 0;
};

// As the server does when it has nothing else to do.
inline RunViews::Work update(RunViews& views) {
  views.manifest_changed();
  RunViews::Work work = views.work();
  while (work == RunViews::Work::more) work = views.work();
  return work;
}

}  // namespace damaris::test
