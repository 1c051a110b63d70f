#include "tools/replay/picture.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/output_file.hpp"
#include "tools/command_line.hpp"

namespace damaris::replay {
namespace {

const std::vector<std::string> kSuffixes = {".html", ".png", ".svg", ".pdf"};  // pictures.SUFFIXES of python/damaris

// The folder of the package, beside this program's libraries.
std::string package_folder() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* const libraries : {DAMARIS_LIBRARIES, "lib"})
    if (const auto found = here.parent_path() / libraries / "damaris/python"; std::filesystem::exists(found)) return found.string();
  throw Error(DC_E_IO, format("the Python package of damaris is not beside '{}'; install damaris again, or draw from --json",
                              here.string()));
}

[[noreturn]] void become_python(const std::string& package, int json, const std::string& path) {
  const char* const wish = std::getenv("DAMARIS_PYTHON");
  const char* const python = wish == nullptr ? "python3" : wish;
  const char* const before = std::getenv("PYTHONPATH");
  ::setenv("PYTHONPATH", before == nullptr || *before == '\0' ? package.c_str() : (package + ":" + before).c_str(), 1);
  ::dup2(json, STDIN_FILENO);
  ::execlp(python, python, "-m", "damaris.replay", path.c_str(), nullptr);
  ::_exit(127);
}

}  // namespace

void check_picture(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (!path.empty() && std::find(kSuffixes.begin(), kSuffixes.end(), suffix) == kSuffixes.end())
    throw tools::WrongUsage(format("-o {}: the name of a picture ends with one of {}", path, join(kSuffixes, " ")));
}

void draw(const Json& report, const std::string& path) {
  const std::string package = package_folder();
  const int json = ::memfd_create("report", MFD_CLOEXEC);
  if (json < 0 || write_all(json, text_of(report)) != 0 || ::lseek(json, 0, SEEK_SET) != 0)
    throw Error(DC_E_MEMORY, "there is no memory for the report that is drawn; free some");
  const pid_t child = ::fork();
  if (child == 0) become_python(package, json, path);
  int status = 0;
  const bool is_done = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ::close(json);
  if (!is_done)
    throw Error(DC_E_IO,
                format("'{}' was not drawn{}", path,
                       WEXITSTATUS(status) == 127 ? ": there is no Python; install python3, or name one in DAMARIS_PYTHON" : ""));
}

}  // namespace damaris::replay
