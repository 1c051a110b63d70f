#include "run_views.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <string_view>

#include "global_view.hpp"
#include "master_file.hpp"
#include "xdmf.hpp"

namespace damaris::hdf5 {
namespace {

// Measured with HDF5 1.10 and 1.14: what a dataset takes in the record and in the open master file, and once more while those of one
// variable are mapped.
constexpr std::uint64_t kHeldBytes = 9 << 10, kMappedBytes = 32 << 10;

std::uint64_t needed_bytes(const std::map<std::int64_t, StepRecord>& steps) {
  std::map<std::string_view, std::uint64_t> parts;
  std::uint64_t all = 0, most = 0;
  for (const auto& [step, record] : steps)
    for (const StoredFile& file : record.files)
      for (const StoredDataset& dataset : file.datasets) {
        ++all;
        most = std::max(most, ++parts[dataset.variable]);
      }
  return all * kHeldBytes + most * kMappedBytes;
}

}  // namespace

RunViews::RunViews(const dc_host_t& host, const std::string& record, std::uint64_t memory_bytes, Now now)
    : host_(host),
      record_(record),
      place_{record_.folder(), std::filesystem::path(record).stem().string(), host.host_name},
      memory_bytes_(memory_bytes),
      now_(now) {
  remove_leftovers(place_);
}

void RunViews::update() {
  constexpr int kShare = 20;  // one part of the time in so many
  if (given_up_ || now_() - ended_ < took_ * kShare) return;
  try {
    record_.read_on();
    write();
  } catch (const std::exception& error) {
    const std::string line =
        "hdf5: the master file " + place_.final_path(kMasterSuffix) +
        " does not show the last iterations yet; they are stored, and it is written again after the next one: " + error.what();
    host_.log(host_.self, 1, line.c_str());
  }
}

void RunViews::finish() {
  if (given_up_) return;
  try {
    record_.read_on();
    // What another server has written meanwhile may have been replaced by less: then the record has more by now. One that goes on and
    // on writes the views itself when it finishes.
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      write();
      if (given_up_ || !record_.read_on()) break;
    }
  } catch (const std::exception& error) {
    throw Error(DC_E_IO, "the master file " + place_.final_path(kMasterSuffix) +
                             " does not show the whole run, whose files are all stored: " + error.what() +
                             "; make room in that folder or make it writable");
  }
}

void RunViews::write() {
  if (record_.steps().empty()) return;
  if (const std::uint64_t needed = needed_bytes(record_.steps()); needed > memory_bytes_) return give_up(needed);
  const Clock::time_point begun = now_();
  const GlobalView view = global_view(record_.steps(), host_);
  const ViewNames names(view, host_);
  write_master(place_, view, names, record_.steps(), host_);
  write_xdmf(place_, view, names);
  ended_ = now_();
  took_ = ended_ - begun;
  shown_ = record_.steps().rbegin()->first;
}

void RunViews::give_up(std::uint64_t needed_bytes) {
  given_up_ = true;
  const std::string path = place_.final_path(kMasterSuffix);
  const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const std::string line =
      "hdf5: the master file " + path +
      (shown_ < 0 ? " is not made" : " and the XDMF file show the iterations up to " + std::to_string(shown_)) +
      ", as the next would take " + mebibytes(needed_bytes) + " and half of memory=\"...\" is " + mebibytes(memory_bytes_) +
      "; all is stored and recorded; to see it all give more memory, or write fewer files with files=\"per-group\" or \"single\"";
  host_.log(host_.self, 1, line.c_str());
  record_ = RunRecordReader(record_.path());  // lets its memory go
}

}  // namespace damaris::hdf5
