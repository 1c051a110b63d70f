#include "verbs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "folder.hpp"
#include "plugins/hdf5/file/hdf5_file.hpp"
#include "plugins/hdf5/file/new_dataset.hpp"
#include "plugins/hdf5/storage.hpp"
#include "plugins/hdf5/write/dataset_writer.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "storage/made_run.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kPwriteBytes = std::size_t{8} << 20;  // as one would write by hand

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw system_error(DC_E_IO, format("cannot {} {}", what, path), errno, "give --folder one with room");
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : path_(path), id_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    if (id_ < 0) fail("create", path);
  }
  ~Descriptor() {
    ::close(id_);
    ::unlink(path_.c_str());
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int id() const { return id_; }

 private:
  std::string path_;
  int id_;
};

void by_hand(MadeRun& run, std::int64_t step, const std::string& path, bool durable) {
  run.step(step);
  const Descriptor file(path);
  off_t offset = 0;
  for (const dc_dataset_t& block : run.datasets())
    for (std::size_t done = 0; done < block.bytes;) {
      const std::size_t part = std::min<std::size_t>(kPwriteBytes, block.bytes - done);
      const ssize_t written = ::pwrite(file.id(), static_cast<const char*>(block.data) + done, part, offset);
      if (written <= 0) fail("write", path);
      done += static_cast<std::size_t>(written);
      offset += written;
    }
  if (durable && ::fsync(file.id()) != 0) fail("sync", path);
}

// As Storage does it up to the checksum, without fsync, name and record.
void by_parts(MadeRun& run, hdf5::DatasetWriter& writer, std::int64_t number, const std::string& path) {
  const dc_step_t& step = run.step(number);
  const Descriptor descriptor(path);
  hdf5::Hdf5File file(descriptor.id(), path);
  hdf5::label_file(file.id(), run.host(), step);
  const std::vector<hdf5::Piece> pieces = hdf5::pieces_of(step);
  writer.reserve(file, pieces);
  for (const hdf5::Piece& piece : pieces) {
    manifest::DatasetEntry told;
    hdf5::Dataset dataset = writer.write(file, piece, told);
    hdf5::label_dataset(dataset, piece, step.step, hdf5::time_of(step));
    dataset.close("write", piece.path);
  }
  file.close();
  file.checksum();
}

struct Way {
  std::string name;
  std::function<void(std::int64_t step)> run;
  Samples samples = {};
};

// All ways in an order drawn anew in each round; the first `skip` rounds only warm up.
void measure(std::vector<Way>& ways, int rounds, const std::string& what) {
  constexpr int kSkip = 2;
  Progress progress(what);
  std::mt19937 random(7);
  std::vector<std::size_t> order(ways.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds + kSkip; ++round) {
    progress.show(round, rounds + kSkip);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const Sample sample = time_calls(1, [&](int) { ways[i].run(round); });
      if (round >= kSkip) ways[i].samples.add(sample);
    }
  }
}

// How much of the rate of `base` the way reaches, round by round.
std::vector<double> share(const std::vector<double>& base, const std::vector<double>& ours) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < ours.size(); ++i) shares.push_back(base[i] / ours[i]);
  return shares;
}

void tell(const std::vector<Way>& ways, std::uint64_t bytes, const std::string& what, Report& report) {
  std::printf("\n%s: %s\n%-34s %12s %14s\n", what.c_str(), size_text(bytes).c_str(), "", "MB/s", "MB/s of CPU");
  for (const Way& way : ways) {
    const double rate = static_cast<double>(bytes) / median(way.samples.wall_ns) * 1e3,
                 cpu = static_cast<double>(bytes) / median(way.samples.cpu_ns) * 1e3;
    std::printf("%-34s %12.0f %14.0f\n", way.name.c_str(), rate, cpu);
    report.details.push_back({{"case", what}, {"way", way.name}, {"mb_per_s", rate}, {"mb_per_cpu_s", cpu}});
  }
}

void large(bool quick, const Folder& folder, Report& report) {
  const std::string path = (folder.path() / "by_hand").string();
  MadeRun run({8, 1, std::uint64_t{quick ? 1U : 16U} << 20, true}, (folder.path() / "large").string());
  hdf5::DatasetWriter writer({}, 1);
  hdf5::Storage storage(run.host());
  const hdf5::QuietErrors quiet;
  std::vector<Way> ways;
  ways.push_back({"pwrite", [&](std::int64_t step) { by_hand(run, step, path, false); }});
  ways.push_back({"HDF5 file", [&](std::int64_t step) { by_parts(run, writer, step, path); }});
  ways.push_back({"pwrite + fsync", [&](std::int64_t step) { by_hand(run, step, path, true); }});
  ways.push_back({"step, durable, recorded", [&](std::int64_t step) {
                    const dc_step_t& view = run.step(step);
                    int code = DC_AGAIN;
                    while (code == DC_AGAIN) code = storage.store(view);
                    if (code != DC_OK) throw Error(DC_E_IO, "a step is not stored");
                    ::unlink((folder.path() / format("large.bench.s0.i{}.h5", step)).c_str());
                  }});
  measure(ways, quick ? 2 : 25, "large");
  tell(ways, run.bytes(), "8 datasets", report);
  const auto row = [&](const char* name, const Samples& base, const Samples& ours, double good, double aim) {
    report.rows.push_back(
        {name, estimate(share(base.wall_ns, ours.wall_ns)), false, good, aim, median(share(base.cpu_ns, ours.cpu_ns))});
  };
  row("HDF5 file, of pwrite", ways[0].samples, ways[1].samples, 0.95, 0.97);
  row("durable step, of pwrite + fsync", ways[2].samples, ways[3].samples, 0.90, 1.0);
}

void small(bool quick, bool positions, const Folder& folder, Report& report) {
  const std::string path = (folder.path() / "small").string(), kind = positions ? "with positions" : "per source";
  MadeRun run({quick ? 10 : 100, 100, 4096, positions}, path + "run");
  hdf5::DatasetWriter writer({}, 1);
  const hdf5::QuietErrors quiet;
  std::vector<Way> ways;
  ways.push_back({"pwrite of each", [&](std::int64_t step) { by_hand(run, step, path, false); }});
  ways.push_back({"HDF5 file", [&](std::int64_t step) { by_parts(run, writer, step, path); }});
  measure(ways, quick ? 2 : 15, "small");
  const std::string what = format("{} blocks of 4 KiB {}", run.datasets().size(), kind);
  tell(ways, run.bytes(), what, report);
  std::vector<double> us;
  for (const double ns : ways[1].samples.cpu_ns) us.push_back(ns / 1e3 / static_cast<double>(run.datasets().size()));
  report.rows.push_back({format("4 KiB block {}, us of CPU", kind), estimate(us), true, 3, 1});
}

}  // namespace

Report run_persist(bool quick, const std::string& parent) {
  const Folder folder(parent);
  Report report;
  large(quick, folder, report);
  small(quick, true, folder, report);
  small(quick, false, folder, report);
  return report;
}

}  // namespace damaris::bench
