#include "tools/record/recorder_library.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"

namespace damaris::record {
namespace {

// Blanks and colons divide the names in LD_PRELOAD, and nothing quotes them: a link in a folder of this user's stands for such a path. It stays,
// as children of the program need it, too.
std::string linked(const std::string& path) {
  const std::string folder = format("/tmp/damaris-{}", ::geteuid());
  struct stat facts = {};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error(DC_E_IO,
                format("cannot make '{}', as the loader cannot preload '{}' with a blank or a colon: {}; install damaris elsewhere",
                       folder, path, text_of_errno(errno)));
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0)
    throw Error(
        DC_E_IO,
        format("'{}' is not a folder of this user alone; remove it, or install damaris under a path without blanks", folder));
  const std::string link = format("{}/recorder-{:x}.so", folder, std::hash<std::string>()(path));
  if (::symlink(path.c_str(), link.c_str()) != 0 && errno != EEXIST)
    throw Error(DC_E_IO,
                format("cannot make the link '{}': {}; install damaris under a path without blanks", link, text_of_errno(errno)));
  return link;
}

}  // namespace

std::string recorder_library() {
  const auto prefix = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  std::string path = (prefix / DAMARIS_RECORDER).string();
  if (::access(path.c_str(), R_OK) != 0) path = (prefix / DAMARIS_RECORDER_IN_BUILD).string();
  if (::access(path.c_str(), R_OK) != 0)
    throw Error(DC_E_IO, format("the recorder '{}' is not there; build or install damaris again", path));
  return path.find_first_of(" :") == std::string::npos ? path : linked(path);
}

}  // namespace damaris::record
