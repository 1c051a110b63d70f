// The folder in which a replay does its I/O: one of its own below the user's, in which it stays.
// Used by: the verb, which makes it; the player's threads, which open files in it at the same time.
// Before it: the user's folder. After it: that folder as it was, unless the files are kept.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/plan.hpp"

namespace damaris::replay {

class Contents;

class PlayFolder {
 public:
  // Makes `on`/damaris-replay.XXXXXX. Throws Error(DC_E_NO_OUTPUT) if `on` is no folder, cannot be written, or its file system has not
  // enough room for the plan, which must outlive this object.
  PlayFolder(const std::string& on, const Plan& plan);
  // That of another process, `path`, which has filled it and removes it.
  PlayFolder(const Plan& plan, const std::string& path);
  // Removes it with all files of the plan, as remove().
  ~PlayFolder();
  PlayFolder(const PlayFolder&) = delete;
  PlayFolder& operator=(const PlayFolder&) = delete;

  // Makes folders and the files that the program found, with made-up contents, and waits until they are on the disk.
  // Throws Error(DC_E_IO); Error(DC_E_STOPPED) when `interrupted` has become another than 0.
  void fill(const std::atomic<int>& interrupted);
  // Removes the plan's files and folders in it, but not itself.
  void clear();
  // Removes it too. Throws Error(DC_E_IO) about what others have put into it, and leaves that.
  void remove();
  void keep() { keeps_ = true; }
  const std::string& path() const { return path_; }

  // As open(2), fstatat(2) and unlink(2) of a file of the plan, by its index; never through a symbolic link. Any thread.
  int open(std::uint32_t file, int flags) const;
  int stat(std::uint32_t file, struct stat& found) const;
  int unlink(std::uint32_t file) const;

 private:
  struct Directory {
    std::string name;        // its last component
    std::size_t parent = 0;  // index
    int descriptor = -1;
  };
  struct Place {
    std::size_t directory = 0;
    std::string name;
  };

  void check_room(const std::string& on) const;
  void find_places();
  std::size_t directory_of(const std::string& path);
  void make_directories();
  void make_file(std::uint32_t file, Contents& contents, const std::atomic<int>& interrupted) const;
  [[noreturn]] void fail(const char* doing, const std::string& name, int error) const;

  const Plan& plan_;
  std::string path_, name_;
  int on_ = -1;
  bool keeps_ = false;
  std::vector<Directory> directories_;  // the folder itself first, parents before children
  std::map<std::string, std::size_t> known_;
  std::vector<Place> places_;  // of the files
};

}  // namespace damaris::replay
