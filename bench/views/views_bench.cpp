#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

#include "child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/views/run_views.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "verbs.hpp"
#include "views/lines.hpp"

namespace damaris::bench {
namespace {

constexpr int kMostSteps = 4096;

// What a case has measured, in memory that the child shares with its parent.
struct Measured {
  double read_ns[kMostSteps] = {}, views_ns[kMostSteps] = {}, wall_ns[kMostSteps] = {};  // of each step, read and shown
  double open_ns = 0, shape_ns = 0, slice_ns = 0;                                        // of the whole run at its end
  std::uint64_t before_bytes = 0, peak_bytes = 0, reader_bytes = 0, master_bytes = 0;
};

class SharedResult {
 public:
  SharedResult() : place_(::mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (place_ == MAP_FAILED) throw Error(DC_E_MEMORY, "there is no memory for the results");
    measured_ = new (place_) Measured;
  }
  ~SharedResult() { ::munmap(place_, sizeof(Measured)); }
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;
  Measured& operator*() const { return *measured_; }

 private:
  void* place_;
  Measured* measured_;
};

// For the views no time passes, so that they are never put off.
Clock::time_point no_time() { return {}; }

std::uint64_t peak() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) << 10;
}

void in_child(const std::function<void()>& work) {
  constexpr std::int64_t kLongest_ms = 1'200'000;
  ChildProcess child(work);
  if (child.wait(kLongest_ms) != ChildProcess::State::ended_well)
    throw Error(DC_E_PLUGIN, "a case of the views failed; its message is above");
}

void show_steps(const RunSizes& sizes, const Folder& folder, Measured& measured) {
  Lines lines(sizes, folder);
  hdf5::RunViews views(lines.host(), lines.record(), no_time);
  measured.before_bytes = peak();
  for (int step = 0; step < sizes.steps; ++step) {
    in_child([&] { Lines(sizes, folder, step).add_step(); });  // whose memory is not counted
    views.manifest_changed();
    const Clock::time_point begun = Clock::now();
    const double before = thread_cpu_ns();
    auto work = views.work();
    const double read = thread_cpu_ns();
    while (work == hdf5::RunViews::Work::more) work = views.work();
    const auto k = static_cast<std::size_t>(step);
    measured.read_ns[k] = read - before;
    measured.views_ns[k] = thread_cpu_ns() - read;
    measured.wall_ns[k] = std::chrono::duration<double, std::nano>(Clock::now() - begun).count();
  }
  views.finish();
  measured.peak_bytes = peak();
}

double wall_ns_of(const std::function<void()>& call) {
  return time_calls(1, [&](int) { call(); }).wall_ns;
}

// Opens the master file, looks at the shape of each variable, and reads the last step of the first one.
void read_back(Lines& lines, const Folder& folder, Measured& measured) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::string path = (folder.path() / "run.h5").string();
  struct stat info = {};
  ::stat(path.c_str(), &info);
  measured.master_bytes = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t before = peak();
  hid_t file = -1;
  measured.open_ns = wall_ns_of([&] { file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT); });
  const hdf5::File master(file, "open", path);
  hsize_t extents[2] = {};
  measured.shape_ns = wall_ns_of([&] {
    for (std::size_t v = 0; v < lines.host().variable_count; ++v) {
      const hdf5::Dataset set(H5Dopen2(master.id(), lines.host().variables[v].path, H5P_DEFAULT), "open the dataset", path);
      const hdf5::Space space(H5Dget_space(set.id()), "ask for the space of", path);
      H5Sget_simple_extent_dims(space.id(), extents, nullptr);
    }
  });
  std::vector<float> values(extents[1]);
  measured.slice_ns = wall_ns_of([&] {
    const hdf5::Dataset set(H5Dopen2(master.id(), lines.host().variables[0].path, H5P_DEFAULT), "open the dataset", path);
    const hdf5::Space space(H5Dget_space(set.id()), "ask for the space of", path);
    const hsize_t start[2] = {extents[0] - 1, 0}, count[2] = {1, extents[1]};
    hdf5::checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start, nullptr, count, nullptr), "select a step");
    const hdf5::Space memory(H5Screate_simple(2, count, nullptr), "make a space");
    hdf5::checked(H5Dread(set.id(), H5T_NATIVE_FLOAT, memory.id(), space.id(), H5P_DEFAULT, values.data()), "read", path);
  });
  measured.reader_bytes = peak() - before;
  if (std::any_of(values.begin(), values.end(), [](float one) { return one != 1; }))
    throw Error(DC_E_IO, path + " does not show the values of the last step; is ulimit -n " + std::to_string(limit.rlim_cur) +
                             " less than the servers?");
}

// What read_views.py says of a reader; empty where the tree, or the reader, is not there.
Json read_in_python(const char* reader, const Folder& folder) {
  const char *const source = std::getenv("DAMARIS_SOURCE_DIR"), *const python = std::getenv("DAMARIS_PYTHON");
  if (source == nullptr || python == nullptr) return {};
  const std::string command = format("'{}' '{}/bench/views/read_views.py' {} '{}'", python, source, reader, folder.path().string());
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) return {};
  std::string text;
  for (int letter = std::fgetc(output); letter != EOF; letter = std::fgetc(output)) text += static_cast<char>(letter);
  const int status = ::pclose(output);
  const Json read = Json::parse(text, nullptr, false);
  return status == 0 && read.is_object() ? read : Json();
}

struct Case {
  RunSizes sizes;
  Measured measured;
  Json h5py = {}, xarray = {};
};

// The middle one of the steps [begin, end).
double middle(const double* values, int begin, int end) { return median({values + begin, values + end}); }

void print(const Case& one) {
  const Measured& had = one.measured;
  const double parts = static_cast<double>(one.sizes.servers) * one.sizes.variables;
  const int half = one.sizes.steps / 2, all = one.sizes.steps;
  std::printf("%7d %5d %5d %6.2f %7.2f %9s %4.0f %6.1f %9s %9s\n", one.sizes.servers, one.sizes.variables, all,
              middle(had.read_ns, half, all) / parts / 1e3, middle(had.views_ns, half, all) / parts / 1e3,
              time_text(middle(had.wall_ns, half, all)).c_str(), static_cast<double>(had.peak_bytes - had.before_bytes) / 1e6,
              static_cast<double>(had.master_bytes) / 1e3, time_text(had.open_ns + had.shape_ns).c_str(),
              time_text(had.slice_ns).c_str());
  for (const auto& [name, read] : {std::pair("h5py", &one.h5py), std::pair("xarray", &one.xarray)})
    if (!read->is_null())
      std::printf("%56s %9s %9s\n", format("{}, {} MB:", name, read->at("megabytes").get<int>()).c_str(),
                  time_text(read->at("open_s").get<double>() * 1e9).c_str(),
                  time_text(read->at("slice_s").get<double>() * 1e9).c_str());
  std::fflush(stdout);  // before the next child has a copy of it
}

void measure(Case& one, const std::string& parent) {
  const Folder folder(parent);
  const SharedResult result;
  in_child([&] { show_steps(one.sizes, folder, *result); });
  in_child([&] {
    Lines lines(one.sizes, folder);
    lines.make_files(one.sizes.steps - 1);
    read_back(lines, folder, *result);
  });
  one.measured = *result;
  one.h5py = read_in_python("h5py", folder);
  one.xarray = read_in_python("xarray", folder);
}

Row row(const std::string& name, double value, double good, double aim) {
  return {name, {value, value, value, value}, true, good, aim, 0};
}

void add_rows(Report& report, const Case& one) {
  const Measured& had = one.measured;
  const RunSizes& sizes = one.sizes;
  const double parts = static_cast<double>(sizes.servers) * sizes.variables;
  const std::string which = format("{} servers x {} variables x {} steps", sizes.servers, sizes.variables, sizes.steps);
  const int half = sizes.steps / 2;
  report.rows.push_back(row("views: a part, us of CPU, " + which, middle(had.views_ns, half, sizes.steps) / parts / 1e3, 8, 4));
  report.rows.push_back(row("views: memory, MB, " + which, static_cast<double>(had.peak_bytes - had.before_bytes) / 1e6, 200, 100));
  report.rows.push_back(row("views: open with all shapes, ms, " + which, (had.open_ns + had.shape_ns) / 1e6, 100, 20));
  report.rows.push_back(row("views: a slice of one step, s, " + which, had.slice_ns / 1e9, 1, 0.3));
  if (!one.xarray.is_null()) {
    report.rows.push_back(row("views: xarray opens, s, " + which, one.xarray.at("open_s"), 0.1, 0.02));
    report.rows.push_back(row("views: xarray reads a slice, s, " + which, one.xarray.at("slice_s"), 1, 0.3));
  }
  if (sizes.steps >= 200) {
    const double early = middle(had.views_ns, 50, 100), late = middle(had.views_ns, sizes.steps - 50, sizes.steps);
    report.rows.push_back(row(format("views: a step near {} of one near 100, {}", sizes.steps, which), late / early, 1.5, 1.1));
  }
  report.details.push_back({{"servers", sizes.servers},
                            {"variables", sizes.variables},
                            {"steps", sizes.steps},
                            {"read_us_a_part", middle(had.read_ns, half, sizes.steps) / parts / 1e3},
                            {"views_us_a_part", middle(had.views_ns, half, sizes.steps) / parts / 1e3},
                            {"step_s", middle(had.wall_ns, half, sizes.steps) / 1e9},
                            {"memory_bytes", had.peak_bytes - had.before_bytes},
                            {"reader_bytes", had.reader_bytes},
                            {"master_bytes", had.master_bytes},
                            {"open_s", had.open_ns / 1e9},
                            {"shapes_s", had.shape_ns / 1e9},
                            {"slice_s", had.slice_ns / 1e9},
                            {"h5py", one.h5py},
                            {"xarray", one.xarray}});
}

}  // namespace

Report run_views(bool quick, const std::string& folder) {
  std::vector<Case> cases;
  const std::vector<RunSizes> sizes =
      quick ? std::vector<RunSizes>{{10, 3, 5}, {3, 2, 200}}
            : std::vector<RunSizes>{{10, 10, 1000}, {100, 10, 100}, {100, 100, 100}, {1000, 10, 100}, {1000, 100, 10}};
  Report report;
  std::printf("servers vars. steps    CPU of a part    a step   MB master  open and     slice\n");
  std::printf("                     read us views us                 kB    shapes   of step\n");
  std::fflush(stdout);
  Progress progress("views");
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    progress.show(static_cast<int>(k), static_cast<int>(sizes.size()));
    Case& one = cases.emplace_back(Case{sizes[k], {}});
    measure(one, folder);
    print(one);
    add_rows(report, one);
  }
  return report;
}

}  // namespace damaris::bench
