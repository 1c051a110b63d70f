#include "start_checks.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"
#include "file/new_dataset.hpp"
#include "manifest/output_folder.hpp"

namespace damaris::hdf5 {

// A variable "a" and a group "a" would be a dataset and a group of the same name.
void check_names(const dc_host_t& host) {
  std::set<std::string> variables;
  for (std::size_t i = 0; i < host.variable_count; ++i) variables.insert(host.variables[i].path);
  for (const std::string& inner : variables)
    for (std::size_t slash = inner.find('/'); slash != std::string::npos; slash = inner.find('/', slash + 1))
      if (const std::string outer = inner.substr(0, slash); variables.count(outer) > 0)
        throw Error(DC_E_CONFIG, "the variable '" + outer + "' and the group of '" + inner +
                                     "' have the same name, which an HDF5 file cannot hold; rename one of them");
}

void check_types(const dc_host_t& host) {
  for (std::size_t i = 0; i < host.variable_count; ++i) type_of(host.variables[i]);
}

void warn_of_cut_chunks(const dc_host_t& host, MemoryBound memory) {
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const dc_variable_info_t& variable = host.variables[i];
    Extents asked = {};
    std::copy_n(variable.chunk, variable.ndims, asked.begin());
    if (variable.ndims == 0 || asked[0] == 0) continue;
    if (cut_to(asked, variable.ndims, variable.element_bytes, memory.codec_bytes()) == asked) continue;
    const std::string line = "hdf5: the chunk of '" + std::string(variable.path) +
                             "' may be split: " + std::to_string(kCopiesOfChunk) +
                             " times a chunk must fit into a quarter of memory=\"...\", which is " +
                             std::to_string(memory.codec_bytes() >> 20) + " MiB; choose smaller chunks or more memory";
    host.log(host.self, 1, line.c_str());
  }
}

void clean_up(const dc_host_t& host, const manifest::FileNames& names) {
  const int removed = remove_leftovers(names);
  if (removed == 0) return;
  const std::string line =
      "hdf5: removed " + std::to_string(removed) + " incomplete files that a killed server left in '" + names.folder() + "'";
  host.log(host.self, 2, line.c_str());
}

namespace {

// A file of another user, if there is one: this user may not expect it, and cannot always move it.
std::string example_of(const std::vector<std::string>& earlier, const manifest::FileNames& names) {
  for (const std::string& name : earlier) {
    struct stat info = {};
    if (::lstat((names.folder() + "/" + name).c_str(), &info) == 0 && info.st_uid != ::geteuid())
      return name + ", which belongs to user " + std::to_string(info.st_uid);
  }
  return earlier.back();
}

// Those that this run can replace or remove, after a warning of the others.
std::vector<std::string> without_kept(const dc_host_t& host, const manifest::FileNames& names, std::vector<std::string> earlier) {
  const auto first_kept = std::stable_partition(earlier.begin(), earlier.end(), [&](const std::string& name) {
    return ::geteuid() == 0 || !is_kept_for_other(names.folder() + "/" + name);
  });
  const std::vector<std::string> kept(first_kept, earlier.end());
  earlier.erase(first_kept, earlier.end());
  if (kept.empty()) return earlier;
  const std::string line =
      "hdf5: " + std::to_string(kept.size()) + " files in '" + names.folder() + "' (such as " + example_of(kept, names) +
      ") have names of step files and can be neither replaced nor removed, as the folder is sticky; these steps "
      "will not be stored: have the files removed, or choose a basename in a folder of your own";
  host.log(host.self, 1, line.c_str());
  return earlier;
}

}  // namespace

void check_earlier_files(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names,
                         const std::vector<std::string>& all_earlier) {
  const bool refuses = settings.existing == manifest::Existing::refuse;
  const std::vector<std::string> earlier = refuses ? all_earlier : without_kept(host, names, all_earlier);
  if (earlier.empty()) return;
  if (settings.existing == manifest::Existing::append || settings.existing == manifest::Existing::recover) return;
  const std::string found = std::to_string(earlier.size()) + " files of an earlier run are in '" + names.folder() + "' (such as " +
                            example_of(earlier, names) + ")";
  if (refuses)
    throw Error(
        DC_E_NO_OUTPUT,
        found + " and exists=\"refuse\"; move them away, choose another basename or use exists=\"overwrite\" or \"append\"");
  const std::string line = "hdf5: " + found + "; they will be removed when this run stores its first step";
  host.log(host.self, 1, line.c_str());
}

std::string remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there";
    case EFBIG:
      return "raise the limit of a file's size (ulimit -f), or write smaller files";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOENT:
      return "restore the output folder, which existed at start-up";
    case EEXIST:
      return "move that file away, or use exists=\"overwrite\"";
    case EACCES:
    case EPERM:
    case EROFS:
      return "make the output folder writable";
    case kOwnedByOther:
      return "have it removed, or choose a basename in a folder of your own";
    case EBADF:
      return "let the program and its plugins close only descriptors that they have opened";
    case kRemedyIncluded:
      return "nothing of it is stored";
    default:
      return "check that file system";
  }
}

}  // namespace damaris::hdf5
