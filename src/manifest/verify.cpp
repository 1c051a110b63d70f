#include "verify.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "contested_elements.hpp"
#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"
#include "file_sum.hpp"
#include "unrecorded.hpp"

namespace damaris::manifest {
namespace {

std::set<std::string> variables_of(const FileEntry& file) {
  std::set<std::string> variables;
  for (const DatasetEntry& dataset : file.datasets) variables.insert(dataset.variable);
  return variables;
}

}  // namespace

// No two steps share a file.
void ViewFileCount::add(const StepEntry& step) {
  std::map<std::string, std::uint64_t> files;
  for (const FileEntry& file : step.files)
    for (const std::string& variable : variables_of(file)) ++files[variable];
  for (const auto& [variable, count] : files) {
    ViewFiles& view = views_[variable];
    view.variable = variable;
    ++view.steps;
    view.all += count;
    view.in_one_step = std::max(view.in_one_step, count);
  }
}

std::vector<ViewFiles> ViewFileCount::list() const {
  std::vector<ViewFiles> list;
  for (const auto& [name, view] : views_) list.push_back(view);
  return list;
}

namespace {

namespace fs = std::filesystem;

std::string length_of(const std::string& path, std::uint64_t recorded) {
  std::error_code unknown;
  return "it has " + std::to_string(fs::file_size(path, unknown)) + " bytes instead of " + std::to_string(recorded);
}

std::vector<std::string> records_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable))
    if (entry.path().extension() == ".jsonl") found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

// The stem of the names of its files, including the dot.
std::string stem_of(const std::string& record) { return fs::path(record).stem().string() + "."; }

bool is_record(const std::string& path) {
  try {
    const Outline outline = outline_of(path);
    return outline.servers > 0 || outline.is_unknown;
  } catch (const Failure&) {
    return false;
  }
}

// Errors that say nothing of the file. EAGAIN: another user has a lease on it.
bool lacks_means(int error) {
  constexpr int kErrors[] = {EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EAGAIN, EBUSY, EINTR, ETIMEDOUT};
  return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

std::string why_not_opened(const std::string& path, int error) {
  return error == EACCES || error == EAGAIN ? why_not_read(path, error) : text_of_errno(error);
}

class Check {
 public:
  Check(const Reader& run, const VerifyOptions& options, Running running) : run_(run), options_(options) {
    result_.running = running;
    result_.has_ended = run.end().has_ended();
    result_.why_not_ended = run.end().why_not();
    if (!run.steps().empty()) result_.first_step = run.steps().begin()->first, result_.last_step = run.steps().rbegin()->first;
    for (const auto& [step, record] : run.steps()) all_bytes_ += record.total.stored_bytes + total_of(record.files).stored_bytes;
  }

  Verification result() {
    for (const auto& [step, record] : run_.steps()) {
      ++result_.steps;
      note_partial(step);
      check_step(step);
    }
    note_not_stored();
    for (const auto& [name, view] : run_.views()) check_view(view);
    result_.uncovered = run_.uncovered();
    result_.views_follow = run_.views_follow();
    result_.views = views_.list();
    for (const std::string& line : run_.damaged()) result_.damaged.push_back({-1, "", "", line});
    if (const std::uint64_t more = run_.more_damaged(); more > 0)
      result_.damaged.push_back({-1, "", "", run_.path() + ": ... and " + std::to_string(more) + " lines more"});
    if (run_.is_cut_off())
      result_.partial.push_back(
          {-1, "", "", run_.path() + ": its last line is cut off: a step may be missing, or is being recorded"});
    look_for_others();
    result_.regions = run_.regions();
    return std::move(result_);
  }

 private:
  void damaged(std::int64_t step, const FileEntry& file, const std::string& dataset, const std::string& what) {
    // Report once: several servers may have parts of the same dataset.
    if (reported_.emplace(step, file.name, dataset, what).second) result_.damaged.push_back({step, file.name, dataset, what});
  }

  void failed(std::int64_t step, const FileEntry& file, const std::string& dataset, const std::string& what, int error) {
    if (!lacks_means(error)) return damaged(step, file, dataset, what);
    if (reported_.emplace(step, file.name, dataset, what).second) result_.unread.push_back({step, file.name, dataset, what});
  }

  bool goes_on() const { return result_.running == Running::yes && !result_.has_ended; }

  std::size_t problem_count() const { return result_.damaged.size() + result_.unread.size(); }

  void note_partial(std::int64_t step) {
    for (const std::string& why : run_.why_partial(step)) result_.partial.push_back({step, "", "", why});
  }

  // A run replaces nothing before its first file: an earlier run's data would hide what it failed to store.
  void note_not_stored() {
    for (const auto& [step, reasons] : run_.not_stored()) {
      const bool has_earlier = run_.steps().count(step) > 0;
      if (!has_earlier) ++result_.steps;
      for (const std::string& why : reasons)
        result_.partial.push_back({step, "", "", why + (has_earlier ? "; its values are those of an earlier run" : "")});
    }
  }

  void check_step(std::int64_t number) {
    StepEntry step;
    try {
      step = run_.with_files(number);
    } catch (const Error& error) {
      undescribed_.insert(number);
      return result_.damaged.push_back({number, "", "", error.what()});
    } catch (const Failure& failure) {
      undescribed_.insert(number);
      return (lacks_means(failure.system_error()) ? result_.unread : result_.damaged).push_back({number, "", "", failure.what()});
    }
    for (const FileEntry& file : step.files) {
      check_file(number, file);
      known_.insert(file.name);
    }
    views_.add(step);
    for (const ContestedElements& one : contested_elements(step))
      if (is_certain(one) || (options_.values && differ(one))) result_.partial.push_back({number, "", "", one.sentence()});
  }

  // What cannot be read has been reported.
  bool differ(const ContestedElements& one) const try {
    const auto sum = [&](const DatasetInFile& from) {
      return options_.open(run_.folder() + "/" + from.file->name)->checksum_of(*from.dataset, one.elements);
    };
    return sum(one.shown) != sum(one.hidden);
  } catch (const Failure&) {
    return false;
  }

  void check_file(std::int64_t step, const FileEntry& file) {
    ++result_.files;
    result_.datasets += file.datasets.size();
    const std::string path = run_.folder() + "/" + file.name;
    if (!StoredFileReader(path).is_open())
      return failed(step, file, "", "it cannot be opened: " + why_not_opened(path, errno), errno);
    const std::size_t before = problem_count();
    const bool same = has_checksum(step, file, path);
    if (options_.values || !same || !file.checksum) check_values(step, file, path);
    if (!same && problem_count() == before) damaged(step, file, "", "its bytes have changed, outside the values of its datasets");
  }

  bool has_checksum(std::int64_t step, const FileEntry& file, const std::string& path) {
    const std::uint64_t before = result_.bytes;
    result_.bytes += file.bytes;
    try {
      // Read at most one byte more than expected: a damaged file may appear to have terabytes.
      const FileSum sum = sum_of_file(path, 0, std::max(file.bytes, file.bytes + 1), [&](std::uint64_t done) {
        if (options_.progress) options_.progress(before + std::min(done, file.bytes), all_bytes_);
      });
      if (sum.bytes != file.bytes) damaged(step, file, "", length_of(path, file.bytes));
      return sum.bytes == file.bytes && sum.checksum == file.checksum.value_or(sum.checksum);
    } catch (const Failure& failure) {
      failed(step, file, "", failure.what(), failure.system_error());
      return false;
    }
  }

  // A view that matches an earlier line is intact but outdated: the newest was not put in place, or an old one was restored.
  void check_view(const ViewState& view) {
    const auto finding = [&](const std::string& what) { return Finding{-1, view.newest.name, "", what}; };
    const std::string path = run_.folder() + "/" + view.newest.name;
    std::error_code unknown;
    if (!fs::exists(path, unknown) && !unknown) {
      if (goes_on() && view.earlier.empty()) return;  // its line comes before the file is put in place
      return result_.damaged.push_back(finding("it is missing: it was removed, or its writer was killed before creating it"));
    }
    try {
      const FileSum sum = sum_of_file(path);
      if (goes_on() || (sum.bytes == view.newest.bytes && sum.checksum == view.newest.checksum))
        return;  // it is written again and again
      const auto& earlier = view.earlier;
      if (std::find(earlier.begin(), earlier.end(), sum.checksum) != earlier.end())
        return result_.partial.push_back(
            finding("it shows less than the run has stored: its writer is updating it or was killed, or an earlier "
                    "version of it was restored"));
      result_.damaged.push_back(
          finding(sum.bytes == view.newest.bytes ? "its bytes have changed" : length_of(path, view.newest.bytes)));
    } catch (const Failure& failure) {
      (lacks_means(failure.system_error()) ? result_.unread : result_.damaged).push_back(finding(failure.what()));
    }
  }

  void check_values(std::int64_t step, const FileEntry& file, const std::string& path) {
    std::unique_ptr<ValueReader> open;
    try {
      open = options_.open(path);
    } catch (const Failure& failure) {
      if (lacks_means(failure.system_error())) return failed(step, file, "", failure.what(), failure.system_error());
      return damaged(step, file, "", std::string("HDF5 cannot open it: all its datasets are lost (") + failure.what() + ")");
    }
    for (const DatasetEntry& dataset : file.datasets) check_values(step, file, *open, dataset);
  }

  void check_values(std::int64_t step, const FileEntry& file, ValueReader& open, const DatasetEntry& dataset) {
    try {
      if (open.checksum_of(dataset) != dataset.checksum) damaged(step, file, dataset.path, "its values have changed");
    } catch (const Failure& failure) {
      failed(step, file, dataset.path, std::string("it cannot be read: ") + failure.what(), failure.system_error());
    }
  }

  // Files that servers of the last run have stored and the manifest has not recorded.
  std::set<std::string> noted_files() const {
    std::set<std::string> noted;
    if (run_.runs().empty()) return noted;
    const RunEntry& run = run_.runs().back();
    const FileNames names((fs::path(run_.folder()) / fs::path(run_.path()).stem()).string(), "");
    std::vector<UnrecordedSteps> lists = UnrecordedSteps::find_all(names, run.regions, run.servers);
    for (UnrecordedSteps& list : UnrecordedSteps::find_apart(names)) lists.push_back(std::move(list));
    for (const StepEntry& step : missing_in(run_.path(), lists))
      for (const FileEntry& file : step.files) noted.insert(file.name);
    return noted;
  }

  // The dot of the stem may belong to ".i": a file of all servers.
  static bool is_of(const std::string& name, const std::string& stem) {
    return name.compare(0, stem.size(), stem) == 0 && name.find(".i", stem.size() - 1) != std::string::npos &&
           name.find(".h5", stem.size()) != std::string::npos;
  }

  // The number in the name of a file; -1 if it has none.
  static std::int64_t step_of(const std::string& name) {
    const std::size_t mark = name.rfind(".i"), end = name.rfind(".h5");
    if (mark == std::string::npos || end == std::string::npos || end < mark + 3 || end > mark + 20) return -1;
    const std::string number = name.substr(mark + 2, end - mark - 2);
    return number.find_first_not_of("0123456789") == std::string::npos ? std::stoll(number) : -1;
  }

  // Manifests of other runs in the folder whose files could be taken for this run's by name, or vice versa. Only those of the same
  // user: other users may put anything there.
  std::vector<std::string> records_of_namesakes(const std::string& stem) const {
    struct stat own = {}, its = {};
    std::vector<std::string> records;
    if (::stat(run_.path().c_str(), &own) != 0) return records;
    for (const std::string& record : records_in(run_.folder())) {
      const std::string other = stem_of(record);
      const bool is_namesake = other != stem && (begins_with(other, stem) || begins_with(stem, other));
      if (is_namesake && ::stat(record.c_str(), &its) == 0 && its.st_uid == own.st_uid && is_record(record))
        records.push_back(record);
    }
    return records;
  }

  // Files of steps that were never recorded, and those that a killed server left.
  void look_for_others() {
    const std::set<std::string> noted = noted_files(), replaced = run_.replaced();
    const auto list_of = [&](const std::string& name) -> std::vector<std::string>& {
      return noted.count(name) > 0 ? result_.noted : replaced.count(name) > 0 ? result_.replaced : result_.not_recorded;
    };
    const std::string stem = stem_of(run_.path());
    const std::vector<std::string> namesakes = records_of_namesakes(stem);
    std::set<std::string> others;
    for (const std::string& record : namesakes) others.merge(files_in_manifest(record));
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(run_.folder(), unreadable)) {
      const std::string name = entry.path().filename().string();
      const std::string plain = name.substr(name.front() == '.' ? 1 : 0);  // the name of a temporary file begins with a dot
      const auto is_its = [&](const std::string& record) {
        return begins_with(stem_of(record), stem) && is_of(plain, stem_of(record));
      };
      const bool is_listed = noted.count(name) > 0 || replaced.count(name) > 0;
      const bool is_others = others.count(name) > 0 || std::any_of(namesakes.begin(), namesakes.end(), is_its);
      if (goes_on() && name.front() == '.') continue;  // being written
      const bool ours = is_of(plain, stem) && (is_listed || !is_others) && undescribed_.count(step_of(name)) == 0;
      if (ours && known_.count(name) == 0) list_of(name).push_back(name);
    }
    for (auto* names : {&result_.not_recorded, &result_.noted, &result_.replaced}) std::sort(names->begin(), names->end());
  }

  const Reader& run_;
  const VerifyOptions& options_;
  std::uint64_t all_bytes_ = 0;
  std::set<std::tuple<std::int64_t, std::string, std::string, std::string>> reported_;
  std::set<std::string> known_;         // files that lines name
  std::set<std::int64_t> undescribed_;  // steps with an unreadable shard, which may name their files
  ViewFileCount views_;
  Verification result_;
};

}  // namespace

namespace {

bool is_there(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// Why what is at the path is no manifest; "" for a file that may be one.
std::string why_no_manifest(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) return S_ISREG(info.st_mode) ? "" : path + " is not a regular file";
  if (errno == ENOENT) return path + " is a link to a file that is not there";
  return path + " cannot be looked at: " + text_of_errno(errno);
}

// Where the manifest of `run` may be, the best first.
std::vector<std::string> manifests_of(const std::string& run) {
  std::vector<std::string> paths;
  if (fs::path(run).extension() == ".jsonl") paths.push_back(run);
  paths.push_back(run + ".jsonl");
  if (fs::path(run).extension() == ".h5") paths.push_back(fs::path(run).replace_extension(".jsonl").string());
  return paths;
}

}  // namespace

std::string find_manifest(const std::string& run) {
  std::error_code unknown;
  const auto none = [&](const std::string& why) { return Error(DC_E_ARGUMENT, "'" + run + "' is not a run: " + why); };
  const auto known = [&](const std::string& path) {
    if (const std::string why = why_no_manifest(path); !why.empty()) throw none(why);
    return path;
  };
  if (fs::is_directory(run, unknown)) {
    const std::vector<std::string> found = records_in(run);
    if (found.empty()) throw none("there is no manifest (*.jsonl) in this folder");
    if (found.size() > 1)
      throw none("there are " + std::to_string(found.size()) + " manifests in this folder, such as " + found.front() +
                 "; name one");
    return known(found.front());
  }
  for (const std::string& path : manifests_of(run))
    if (is_there(path)) return known(path);
  fs::path folder = fs::path(run).parent_path();
  if (folder.empty()) folder = ".";
  const std::vector<std::string> near = records_in(folder);
  throw none("there is no " + run + ".jsonl" +
             (near.empty() ? "; give the basename of <hdf5>, such as out/storm" : "; in its folder there is " + near.front()));
}

Verification verify(const std::string& record, const VerifyOptions& options) {
  const Running running = is_running(record);
  Reader run(record);
  run.read_on();
  return Check(run, options, running).result();
}

}  // namespace damaris::manifest
