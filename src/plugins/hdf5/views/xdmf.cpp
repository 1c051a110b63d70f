#include "xdmf.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "view_levels.hpp"

namespace damaris::hdf5 {

bool can_name(const std::string& stem) {
  const auto is_known = [](char one) { return one >= ' ' && one <= '~' && one != ':' && one != '\\'; };
  return std::all_of(stem.begin(), stem.end(), is_known) && stem.rfind(' ', 0) != 0;
}

void XdmfFile::update(const ViewPlace& place, const XdmfRun& run, std::int64_t changed) {
  const XdmfText text(place.stem, run);
  std::string common = text.common();
  const auto is_before = [](const Begin& one, std::int64_t step) { return one.step < step; };
  const auto kept = std::lower_bound(steps_.begin(), steps_.end(), changed, is_before) - steps_.begin();
  const bool goes_on = bytes_ > 0 && common == common_;
  common_ = std::move(common);
  if (!goes_on || !write_behind(place, static_cast<std::size_t>(kept), changed, run, text)) write_anew(place, run, text);
}

// One step in memory at a time.
void XdmfFile::write_anew(const ViewPlace& place, const XdmfRun& run, const XdmfText& text) {
  steps_.clear();
  bytes_ = 0;
  OutputFile output(place.temporary_path(kXdmfSuffix), place.final_path(kXdmfSuffix));
  std::uint64_t at = 0;
  std::uint32_t sum = 0;
  std::vector<Begin> begins;
  const auto add = [&](const std::string& more) {
    output.append(more);
    at += more.size();
    sum = codec::crc32(more.data(), more.size(), sum);
  };
  add(kXdmfHead);
  for (const auto& [step, shape] : run.steps) {
    begins.push_back({step, at, sum});
    add(text.of(step));
  }
  begins.push_back({std::numeric_limits<std::int64_t>::max(), at, sum});
  add(kXdmfEnd);
  struct stat info = {};
  ::fstat(output.descriptor(), &info);
  put_in_place(output, place);
  steps_ = std::move(begins);
  bytes_ = at;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

// Returns false if the file is not the one that was written last, or its name has another one: then nothing was written.
bool XdmfFile::write_behind(const ViewPlace& place, std::size_t kept, std::int64_t changed, const XdmfRun& run,
                            const XdmfText& text) {
  auto next = run.steps.lower_bound(changed);
  if (next == run.steps.end() && kept + 1 == steps_.size()) return true;
  const Begin from = steps_[kept];
  std::vector<Begin> begins;
  std::string more;
  std::uint32_t sum = from.sum;
  const auto add = [&](const std::string& one) {
    sum = codec::crc32(one.data(), one.size(), sum);
    more += one;
  };
  for (; next != run.steps.end(); ++next) {
    begins.push_back({next->first, from.at + more.size(), sum});
    add(text.of(next->first));
  }
  begins.push_back({std::numeric_limits<std::int64_t>::max(), from.at + more.size(), sum});
  add(kXdmfEnd);
  bool is_ours = false;
  record(place, {place.stem + kXdmfSuffix, from.at + more.size(), sum}, [&] { is_ours = replace_end(place, from.at, more); });
  if (!is_ours) return false;
  steps_.resize(kept);
  steps_.insert(steps_.end(), begins.begin(), begins.end());
  bytes_ = from.at + more.size();
  return true;
}

// Writes `text` over the file from byte `at` on, and cuts the rest off.
bool XdmfFile::replace_end(const ViewPlace& place, std::uint64_t at, const std::string& text) {
  const std::string path = place.final_path(kXdmfSuffix);
  const int descriptor = open_own(path, O_RDWR, 0666);
  if (descriptor < 0) return false;
  struct stat info = {};
  const bool is_ours = ::fstat(descriptor, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_ &&
                       static_cast<std::uint64_t>(info.st_size) == bytes_;
  int error = 0;
  if (is_ours) {
    bytes_ = 0;  // if it fails the file is written anew
    if (::lseek(descriptor, static_cast<off_t>(at), SEEK_SET) < 0) error = errno;
    if (error == 0) error = write_all(descriptor, text);
    if (error == 0 && (::ftruncate(descriptor, static_cast<off_t>(at + text.size())) != 0 || ::fsync(descriptor) != 0))
      error = errno;
  }
  ::close(descriptor);
  if (error != 0) throw_system_failure(error, "add a step to", path);
  return is_ours;
}

}  // namespace damaris::hdf5
