// The text file of the manifest, open for adding lines: each line is whole, and durable when append returns.
// Used by: the hdf5 plugin on the server's dispatch thread, of one process or of several that share the file.
// Before it: run_hold.hpp and writer.hpp. After it: reader.hpp reads it.
#pragma once

#include <damaris/error.hpp>

#include <functional>
#include <string>
#include <vector>

#include "entries.hpp"
#include "run_hold.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {

// What happens to an earlier run of the same basename.
enum class Existing {
  overwrite,  // its files go when this run stores its first step
  refuse,     // it stops the start
  recover,    // it is this run: what its dead server had in hand is added. Only for the recovery, not in the XML
  append      // it stays; steps from the first that this run stores are those of this run
};

// Say that a run may not begin because of this manifest.
Error earlier_record(const std::string& path);
Error other_run(const std::string& path);

struct Outline;  // reader.hpp
// Throws Failure unless the manifest that is found again, and that is empty or not, is that of `run`.
void require_same_run(const Outline& found, const RunEntry& run);

class ManifestFile {
 public:
  // Opens or makes the file, and adds the run's line if no other process of the run has. What earlier runs say stays until lines of this
  // run replace it (reader.hpp). `hold`: that the basename is this run's; for as long as this object lives. Throws Failure, or
  // damaris::Error(DC_E_NO_OUTPUT) for the manifest of an earlier run with `existing` refuse.
  // With `existing` recover the run has its line already; damaris::Error(DC_E_NO_OUTPUT) when the last line is another run's.
  // `again`: this process had it open before, and the run's line is there unless the file is empty.
  // `of_earlier`: lines that the run before has not come to add; they stand before this run's.
  ManifestFile(std::string path, Existing existing, RunHold& hold, const RunEntry& run, bool again = false,
               const std::vector<Json>& of_earlier = {});
  ~ManifestFile();
  ManifestFile(const ManifestFile&) = delete;
  ManifestFile& operator=(const ManifestFile&) = delete;

  bool is_first() const { return first_; }
  // The file was removed or moved away, with its folder for instance, or the program has closed its descriptor: a new object begins or goes
  // on with one.
  bool is_gone() const;
  // False, and nothing done, when another file has taken this one's place, or it was removed or moved: open it anew. Throws Failure; nothing of
  // the line is left in the file then. What the line announces is done by `then`, before any other process can add to the file: it may
  // throw, and the line stays.
  bool append(const Json& line, const std::function<void()>& then = {});
  // Takes away the lines of earlier runs that this one has replaced, into another file of the same name: a crash leaves one of both, and
  // other processes of the run notice (is_gone). Throws Failure.
  void drop_replaced_lines();

 private:
  void open();
  void close();
  void learn_identity();
  bool is_ours() const;
  void start(Existing existing, const RunEntry& run, const std::vector<Json>& of_earlier);
  void go_on(const RunEntry& run);
  void cut_broken_line();
  void remove_leftovers() const;
  void take_back();
  void take_back_line();
  Seal last_seal() const;

  std::string path_;
  RunHold& hold_;
  int descriptor_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;  // of the file behind it
  bool has_name_ = false;                 // these were the path's, too, when it was opened
  bool first_;
  std::uint64_t begin_ = 0, end_ = 0;            // of the run's line, if this object has added it
  std::uint64_t line_begin_ = 0, line_end_ = 0;  // of a line that failed and is still there
};

}  // namespace damaris::manifest
