#include "verify.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <tuple>

#include "core/base/box.hpp"
#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"
#include "manifest.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {
namespace {

namespace fs = std::filesystem;

// The elements of a step that files of several servers hold: no server sees the files of the others.
struct ContestedElements {
  // Else the values may be equal all the same.
  bool is_certain() const { return shown.dataset->box == hidden.dataset->box; }
  std::string sentence() const {
    return "'" + hidden.dataset->variable + "': " + shown.file->name + " and " + hidden.file->name +
           " hold other values of the elements" + box_text(elements) + "; readers get those of " + shown.file->name +
           "; check that dc_set_position gives each block its own place";
  }

  DatasetInFile shown, hidden;  // readers get those of `shown`
  Box elements;
};

void add_contests(std::vector<DatasetInFile>& datasets, std::vector<ContestedElements>& found) {
  put_in_order(datasets);
  std::vector<Box> boxes;
  for (const DatasetInFile& one : datasets) boxes.push_back(one.dataset->box);
  for (const Contest& contest : contests(boxes)) {
    const DatasetInFile &shown = datasets[contest.first], &hidden = datasets[contest.second];
    const bool equal = shown.dataset->box == hidden.dataset->box && shown.dataset->checksum == hidden.dataset->checksum;
    if (shown.file != hidden.file && !equal) found.push_back({shown, hidden, contest.common});
  }
}

// Each pair of datasets that share more than a face, but those with the same box and the same checksum.
std::vector<ContestedElements> contested_elements(const StepEntry& step) {
  std::map<std::string, std::vector<DatasetInFile>> placed;  // by variable
  for (const FileEntry& file : step.files)
    for (const DatasetEntry& dataset : file.datasets)
      if (dataset.has_position && volume(dataset.box) > 0) placed[dataset.variable].push_back({&file, &dataset});
  std::vector<ContestedElements> found;
  for (auto& [variable, datasets] : placed) add_contests(datasets, found);
  return found;
}

std::string length_of(const std::string& path, std::uint64_t recorded) {
  std::error_code unknown;
  return "it has " + std::to_string(fs::file_size(path, unknown)) + " bytes instead of " + std::to_string(recorded);
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
  Check(const Manifest& run, const VerifyOptions& options, Holder holder) : run_(run), options_(options) {
    result_.holder = holder;
    result_.has_ended = run.has_ended();
    result_.why_not_ended = run.why_not_ended();
    if (!run.steps().empty()) result_.first_step = run.steps().begin()->first, result_.last_step = run.steps().rbegin()->first;
    for (const auto& [step, record] : run.steps()) all_bytes_ += record.total.stored_bytes;
  }

  Verification result() {
    for (const auto& [step, record] : run_.steps()) {
      ++result_.steps;
      note_partial(step);
      check_step(step);
    }
    note_not_stored();
    for (const auto& [name, view] : run_.views()) check_view(view);
    result_.views_follow = run_.views_follow();
    for (const auto& [variable, view] : views_) result_.views.push_back(view);
    for (const std::string& line : run_.damaged()) result_.damaged.push_back({-1, "", "", line});
    if (const std::uint64_t more = run_.more_damaged(); more > 0)
      result_.damaged.push_back({-1, "", "", "... and " + std::to_string(more) + " lines more"});
    for (const std::string& log : run_.cut_off())
      result_.partial.push_back({-1, "", "", log + ": its last line is cut off: a step may be missing, or is being recorded"});
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

  bool goes_on() const { return result_.holder == Holder::alive && !result_.has_ended; }

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
    count_views(step);
    for (const ContestedElements& one : contested_elements(step))
      if (one.is_certain() || (options_.values && differ(one))) result_.partial.push_back({number, "", "", one.sentence()});
  }

  // No two steps share a file.
  void count_views(const StepEntry& step) {
    std::map<std::string, std::set<const FileEntry*>> files;  // by variable
    for (const FileEntry& file : step.files)
      for (const DatasetEntry& dataset : file.datasets) files[dataset.variable].insert(&file);
    for (const auto& [variable, all] : files) {
      ViewFiles& view = views_[variable];
      view.variable = variable;
      ++view.steps;
      view.all += all.size();
      view.in_one_step = std::max<std::uint64_t>(view.in_one_step, all.size());
    }
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
    if (options_.values || !same) check_values(step, file, path);
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
      return sum.bytes == file.bytes && sum.checksum == file.checksum;
    } catch (const Failure& failure) {
      failed(step, file, "", failure.what(), failure.system_error());
      return false;
    }
  }

  // A view that matches an earlier record is intact but outdated: the newest was not put in place, or an old one was restored.
  void check_view(const View& view) {
    const ViewEntry& newest = view.same.back();
    const auto finding = [&](const std::string& what) { return Finding{-1, newest.name, "", what}; };
    const std::string path = run_.folder() + "/" + newest.name;
    std::error_code unknown;
    if (!fs::exists(path, unknown) && !unknown) {
      if (goes_on() && view.earlier.empty()) return;  // its record comes before the file is put in place
      return result_.damaged.push_back(finding("it is missing: it was removed, or its writer was killed before creating it"));
    }
    try {
      const FileSum sum = sum_of_file(path);
      const auto is_it = [&](const ViewEntry& one) { return sum.bytes == one.bytes && sum.checksum == one.checksum; };
      if (goes_on() || std::any_of(view.same.begin(), view.same.end(), is_it)) return;  // it is written again and again
      const auto& earlier = view.earlier;
      if (std::find(earlier.begin(), earlier.end(), sum.checksum) != earlier.end())
        return result_.partial.push_back(
            finding("it shows less than the run has stored: its writer is updating it or was killed, or an earlier "
                    "version of it was restored"));
      result_.damaged.push_back(finding(sum.bytes == newest.bytes ? "its bytes have changed" : length_of(path, newest.bytes)));
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

  // Runs in the folder whose files could be taken for this run's by name, or vice versa.
  std::vector<std::string> namesakes() const {
    const std::string own = run_.stem() + ".";
    std::vector<std::string> stems;
    for (const std::string& stem : stems_in(run_.folder()))
      if (stem != run_.stem() && (begins_with(stem + ".", own) || begins_with(own, stem + "."))) stems.push_back(stem);
    return stems;
  }

  // Files of steps that were never recorded, and those that a killed server left.
  void look_for_others() {
    const std::set<std::string> replaced = run_.replaced();
    const std::string own = run_.stem() + ".";
    std::set<std::string> others;  // names in their logs
    const std::vector<std::string> stems = namesakes();
    for (const std::string& stem : stems) others.merge(files_of(stem));
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(run_.folder(), unreadable)) {
      const std::string name = entry.path().filename().string();
      const std::string plain = name.substr(name.front() == '.' ? 1 : 0);  // the name of a temporary file begins with a dot
      const auto is_its = [&](const std::string& stem) { return begins_with(stem, own) && is_of(plain, stem + "."); };
      const bool is_others = others.count(name) > 0 || std::any_of(stems.begin(), stems.end(), is_its);
      const bool is_replaced = replaced.count(name) > 0;
      if (goes_on() && name.front() == '.') continue;  // being written
      const bool ours = is_of(plain, own) && (is_replaced || !is_others) && undescribed_.count(step_of(name)) == 0;
      if (ours && known_.count(name) == 0) (is_replaced ? result_.replaced : result_.not_recorded).push_back(name);
    }
    for (const char* suffix : {".h5", ".xmf"}) {  // the record of a view may be missing
      const std::string name = run_.stem() + suffix;
      if (run_.views().count(name) == 0 && fs::exists(run_.folder() + "/" + name, unreadable) && !goes_on())
        result_.not_recorded.push_back(name);
    }
    for (auto* names : {&result_.not_recorded, &result_.replaced}) std::sort(names->begin(), names->end());
  }

  std::set<std::string> files_of(const std::string& stem) const try {
    Manifest other(run_.folder() + "/" + stem);
    other.read_on();
    return other.files();
  } catch (const Error&) {  // that is for its own verification to say
    return {};
  }

  const Manifest& run_;
  const VerifyOptions& options_;
  std::uint64_t all_bytes_ = 0;
  std::set<std::tuple<std::int64_t, std::string, std::string, std::string>> reported_;
  std::set<std::string> known_;             // files that records name
  std::set<std::int64_t> undescribed_;      // steps with a damaged record, which may name their files
  std::map<std::string, ViewFiles> views_;  // by variable
  Verification result_;
};

// Whether a process of the run lives.
Holder holder_of_run(const std::vector<std::string>& logs) {
  Holder all = Holder::none;
  for (const std::string& log : logs) {
    const Holder one = holder_of(log);
    if (one == Holder::alive) return one;
    if (one == Holder::unknown) all = one;
  }
  return all;
}

}  // namespace

std::string find_run(const std::string& run) {
  std::error_code unknown;
  const auto none = [&](const std::string& why) { return Error(DC_E_ARGUMENT, "'" + run + "' is not a run: " + why); };
  const auto folder_of = [](const fs::path& path) { return path.parent_path().empty() ? fs::path(".") : path.parent_path(); };
  if (fs::is_directory(run, unknown)) {
    const std::set<std::string> stems = stems_in(run);
    if (stems.empty()) throw none("there is no manifest (*.g1.*.jsonl) in this folder");
    if (stems.size() > 1)
      throw none("there are " + std::to_string(stems.size()) + " runs in this folder, such as " + *stems.begin() + "; name one");
    return (fs::path(run) / *stems.begin()).string();
  }
  const std::set<std::string> stems = stems_in(folder_of(run).string());
  const std::string name = fs::path(run).filename().string();
  std::string best;  // of one of its files
  for (const std::string& stem : stems) {
    if (stem == name) return run;
    if (begins_with(name, stem + ".") && stem.size() > best.size()) best = stem;
  }
  if (!best.empty()) return (fs::path(run).parent_path() / best).string();
  throw none(
      "there is no log " + name + ".g*.jsonl" +
      (stems.empty() ? "; give the basename of <hdf5>, such as out/storm" : "; in its folder there is a run " + *stems.begin()));
}

Verification verify(const std::string& basename, const VerifyOptions& options) {
  Manifest run(basename);
  std::vector<std::string> last;
  const std::vector<LogName> logs = find_logs(run.folder(), run.stem());
  for (const LogName& log : logs)
    if (log.generation == logs.back().generation) last.push_back(run.folder() + "/" + log.of(run.stem()));
  const Holder holder = holder_of_run(last);
  run.read_on();
  return Check(run, options, holder).result();
}

}  // namespace damaris::manifest
