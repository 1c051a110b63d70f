// How the writer replaces the earlier runs under its basename. The rest of it is in writer.cpp.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "writer.hpp"

namespace damaris::manifest {

// Removes the files of earlier runs once the first line of this run has replaced theirs.
void ManifestWriter::replace_earlier_runs() {
  if (std::exchange(replaced_, true) || existing_ != Existing::overwrite) return;
  own_files_.remove_earlier();
  send_to_others(Json{{"replaced", true}});  // a server that misses the message removes them at its end
  if (!file_->is_first()) return;
  for (const char* suffix : {".h5", ".xmf"}) ::unlink(names_.of_run(suffix).c_str());
  remove_files_of_others();
  try {
    file_->drop_replaced_lines();
  } catch (const Failure& failure) {
    warn(std::string(failure.what()) + "; lines of earlier runs stay in it, without effect");
  }
}

// The files, as the manifest names them, of servers that are not part of this run; its own servers remove, or have replaced, theirs.
// Servers that do not know each other join under the lock: one that joins later has stored nothing yet. Checks the names, because a forged
// manifest may name any file.
void ManifestWriter::remove_files_of_others() const try {
  const std::string record = names_.of_run(".jsonl");
  const RunLock::Guard guard(*lock_);
  FilesOfRun ours{{}, prefixes_};
  if (shared()) {
    std::optional<FilesOfRun> joined = files_of_run(record, outline_of(record).begins_at, names_);
    if (!joined)
      return warn("a line of this run in " + record +
                  " is damaged or missing: files of earlier runs that only other processes wrote stay");
    ours = std::move(*joined);
  }
  for (const std::string& name : files_in_manifest(record)) {
    const auto made_it = [&](const std::string& prefix) { return begins_with(name, prefix); };
    const bool is_shard = names_.is_shard_of_run(name), is_ours = ours.files.count(name) > 0 || shard_.has_made(name);
    const bool may_go = is_shard || (names_.is_of_run(name) && std::none_of(ours.prefixes.begin(), ours.prefixes.end(), made_it));
    if (may_go && !is_ours) ::unlink((names_.folder() + "/" + name).c_str());
  }
} catch (const Failure& failure) {
  warn(std::string(failure.what()) + "; files of earlier runs that only other processes wrote stay");
}

}  // namespace damaris::manifest
