// Writes the shared files of a group of servers: one for each step of which a server has data.
// Used by: the hdf5 plugin, on the server's work thread; collective over the group.
// Before it: team.hpp, which brings all servers of the group to the same step. After it: the manifest.
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

// Throws damaris::Error(DC_E_CONFIG) if the settings require shared files and they are impossible. Makes no call of HDF5.
void check_can_share(const dc_host_t& host);

// What a server wants to do about a step that the file system has refused. Of several servers the last of these counts.
enum class Vote {
  abstain,  // it has no data of the step
  leave,    // it is to end: leave the step to recovery
  again,
  give_up,
};

// A step that no server has stored; the servers agree on what to do.
class SharedFailure : public Failure {
 public:
  SharedFailure(const Failure& failure, Vote agreed) : Failure(failure), agreed_(agreed) {}
  Vote agreed() const { return agreed_; }

 private:
  Vote agreed_;
};

class SharedFiles {
 public:
  // Requires that check_can_share() succeeded. Calls `begin` on the leader with the name of each new file.
  SharedFiles(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names,
              std::function<void(const std::string&)> begin);

  // Writes the step together with the others. Returns this server's part of the file, which is durable under its final name. Throws
  // SharedFailure on all servers if one of them fails; then no file is left. `check` may refuse the step by throwing: it is called
  // when the values are written, and the file is not published. `vote` says what this server wants to do about a failure that may pass.
  using AskForVote = std::function<Vote(const Failure&)>;
  manifest::FileEntry write(const dc_step_t& step, const std::function<void()>& check, const AskForVote& vote);
  // Blocks of this server whose values are not in the file just written, because another server has different values for the same box; the
  // first of each variable.
  const std::vector<Overlap>& hidden_blocks() const { return hidden_; }
  // Takes part in a step of which only other servers have data; they report failures. If `why_not` is not empty, refuses the step for all.
  void attend(std::int64_t step, const std::string& why_not);

 private:
  manifest::FileEntry write_together(std::int64_t number, const dc_step_t* step, const std::function<void()>& may_begin,
                                     const std::function<void()>& check);
  Vote agree_after(const Failure& failure, const AskForVote& vote);
  void settle(const SharedLayout& layout, const dc_step_t* step);
  void warn_of_scattered(const SharedLayout& layout, std::int64_t step);
  SharedLayout layout_from(const std::vector<std::string>& offers) const;
  std::vector<std::string> fill(const std::string& path, const SharedLayout& layout, const dc_step_t* step,
                                const std::function<void()>& check, manifest::FileEntry& entry);
  std::uint64_t finish(OutputFile& output, const SharedLayout& layout, const std::vector<std::string>& found) const;
  std::uint32_t checksum_of(const std::string& path, std::uint64_t bytes);
  static void give_back_reserve(const OutputFile& output);
  std::uint64_t publish(OutputFile& output, const SharedLayout& layout) const;

  const dc_host_t& host_;
  const Settings& settings_;
  const manifest::FileNames& names_;
  std::function<void(const std::string&)> begin_;
  Team team_;
  DatasetCreator creator_;
  BoxWriter writer_;
  std::vector<Overlap> hidden_;
  std::set<std::string> scattered_;  // variables for which this was reported
};

}  // namespace damaris::hdf5
