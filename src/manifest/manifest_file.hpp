// The text file of the manifest, open for appending: each line is written whole, and durable when append returns.
// Used by: the hdf5 plugin on the server's work thread, of one process or of several that share the file.
// Before it: run_lock.hpp and writer.hpp. After it: reader.hpp reads it.
#pragma once

#include <damaris/error.hpp>

#include <functional>
#include <string>
#include <vector>

#include "core/base/own_file.hpp"
#include "entries.hpp"
#include "run_lock.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {

// What happens to an earlier run of the same basename.
enum class Existing {
  automatic,  // as overwrite if the last run has ended; else the start fails
  overwrite,  // its files are removed when this run stores its first step
  refuse,     // the start fails
  recover,    // it is this run: recovery adds the steps of its dead server. Not in the XML
  append      // it stays, except for steps from the first one that this run stores
};

// The errors for a run that cannot begin because of this manifest.
Error earlier_record(const std::string& path);
Error other_run(const std::string& path);
Error unended_run(const std::string& path);

// Throws Failure, with the owner and the remedy, if something else than a file of this user is at the manifest's name.
void require_own_manifest(const std::string& path);

struct Outline;  // reader.hpp
// Throws Failure unless the reopened manifest, which may be empty, is that of `run`.
void require_same_run(const Outline& found, const RunEntry& run);

class ManifestFile {
 public:
  // Opens or creates the file, and adds the run's line unless another process of the run has. Lines of earlier runs stay until
  // lines of this run replace them (reader.hpp). `run_lock`: this run's lock of the basename; it must outlive this object. Throws
  // Failure, or damaris::Error(DC_E_NO_OUTPUT) for the manifest of an earlier run if `existing` is refuse.
  // If `existing` is recover, the run already has its line; throws damaris::Error(DC_E_NO_OUTPUT) if the dead server was none of the
  // last run's, which its regions show.
  // `again`: this process had the file open before, and the run's line is there unless the file is empty.
  // `of_earlier`: lines that the previous run could not add any more; they are added before this run's.
  ManifestFile(std::string path, Existing existing, RunLock& run_lock, const RunEntry& run, bool again = false,
               const std::vector<Json>& of_earlier = {});
  ~ManifestFile();
  ManifestFile(const ManifestFile&) = delete;
  ManifestFile& operator=(const ManifestFile&) = delete;

  bool is_first() const { return first_; }
  // Whether the file was removed or moved, for instance with its folder, or the run lock is void.
  // Create a new object then. Throws Failure if the file system does not say so.
  bool is_gone() const;
  // Appends lines. Returns false without effect if is_gone(): reopen it. Throws Failure, and leaves nothing of them in the file. `then`
  // performs what they announce, before any other process can append; if it throws, they stay.
  bool append(const std::vector<Json>& lines, const std::function<void()>& then = {});
  bool append(const Json& line, const std::function<void()>& then = {});
  // The run's line stays though the run has stored nothing: it would be taken back at the end, and recovery needs it.
  void keep_run();
  // Removes the lines of earlier runs that this one has replaced, by renaming a new file into place: a crash leaves one of the two,
  // and other processes of the run notice it through is_gone(). Throws Failure.
  void drop_replaced_lines();

 private:
  void open();
  void close();
  void learn_identity();
  void learn_name();
  void start(Existing existing, const RunEntry& run, const std::vector<Json>& of_earlier);
  void require_run_of(const RunEntry& recovery) const;
  void cut_broken_line();
  void remove_leftovers() const;
  void take_back();
  void take_back_line();
  Seal last_seal() const;

  std::string path_;
  RunLock& lock_;
  int descriptor_ = -1;
  FileIdentity identity_;
  bool has_name_ = false;  // the path had the same device and inode when it was opened
  bool first_;
  std::uint64_t begin_ = 0, end_ = 0;            // of the run's line, if this object added it
  std::uint64_t line_begin_ = 0, line_end_ = 0;  // of a failed line that is still in the file
};

}  // namespace damaris::manifest
