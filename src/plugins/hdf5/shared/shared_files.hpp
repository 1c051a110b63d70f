// The files that the servers of a group write together: a file for each step of which one of them has data.
// Used by: the hdf5 plugin, on the server's dispatch thread; collective over the group.
// Before it: agreement.hpp has brought all servers of the group to the same step. After it: the manifest.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "box_writer.hpp"
#include "core/base/output_file.hpp"
#include "manifest/output_folder.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) where the settings ask for files of several servers and these cannot be. Calls nothing of HDF5.
void check_can_share(const dc_host_t& host);

class SharedFiles {
 public:
  // `begin` is called on the leader with the name of each file that it has made. Where check_can_share() has nothing against it.
  SharedFiles(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names,
              std::function<void(const std::string&)> begin);

  // Writes the step with the others. Returns what this server has of the file, which is durable under its final name. Throws
  // Failure on all of them when one cannot: then no file is left.
  // `check` may refuse the step, by an exception.
  manifest::FileEntry write(const dc_step_t& step, const std::function<void()>& check) {
    return write_together(step.step, &step, check);
  }
  // Blocks of this server whose values are not in the file just written, as another server has other ones for their place; the first of
  // each variable.
  const std::vector<Contest>& lost() const { return lost_; }
  // Takes part in a step of which only others have data. What fails is theirs to say. With `why_not` it refuses it, for all.
  void attend(std::int64_t step, const std::string& why_not);

 private:
  manifest::FileEntry write_together(std::int64_t number, const dc_step_t* step, const std::function<void()>& check);
  void settle(const SharedLayout& layout, const dc_step_t* step);
  void warn_of_scattered(const SharedLayout& layout, std::int64_t step);
  SharedLayout layout_from(const std::vector<std::string>& offers) const;
  std::vector<std::string> fill(const std::string& path, const SharedLayout& layout, const dc_step_t* step,
                                manifest::FileEntry& entry);
  std::uint64_t finish(OutputFile& output, const SharedLayout& layout, const std::vector<std::string>& found) const;
  std::uint32_t checksum_of(const std::string& path, std::uint64_t bytes);
  std::uint64_t publish(OutputFile& output, const SharedLayout& layout) const;

  const dc_host_t& host_;
  const Settings& settings_;
  const manifest::FileNames& names_;
  std::function<void(const std::string&)> begin_;
  Team team_;
  DatasetCreator creator_;
  BoxWriter writer_;
  std::vector<Contest> lost_;
  std::set<std::string> scattered_;  // variables of which that was said
};

}  // namespace damaris::hdf5
