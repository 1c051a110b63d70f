#include "tools/record/target_program.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "tools/record/needed_libraries.hpp"

namespace damaris::record {

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Error(DC_E_ARGUMENT, sentence); }

enum class Found { yes, forbidden, no };

Found look_at(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return Found::no;
  return access(path.c_str(), X_OK) == 0 ? Found::yes : Found::forbidden;
}

// The interpreter of a script, or nothing.
std::optional<std::string> interpreter_of(const std::string& beginning) {
  if (beginning.compare(0, 2, "#!") != 0) return std::nullopt;
  const std::size_t first = beginning.find_first_not_of(" \t", 2);
  if (first == std::string::npos) return std::nullopt;
  return beginning.substr(first, beginning.find_first_of(" \t\n", first) - first);
}

bool has_interpreter(std::ifstream& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.clear();
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

Elf64_Half own_machine() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header{};
  return file.read(reinterpret_cast<char*>(&header), sizeof header) ? header.e_machine : Elf64_Half{EM_NONE};
}

// "": none. Libraries of Open MPI have the number 40, those of MPICH and of what is compatible with it 12.
std::string flavour_of(const std::string& library) {
  const bool is_mpi = library.rfind("libmpi", 0) == 0;
  if (library.find("openmpi") != std::string::npos || (is_mpi && library.find(".so.40") != std::string::npos)) return "openmpi";
  if (library.find("mpich") != std::string::npos || (is_mpi && library.find(".so.12") != std::string::npos)) return "mpich";
  return "";
}

// A recorder has the types of one MPI: a program of the other one would abort in MPI_Init.
void check_flavour(const std::string& path, std::ifstream& file, const Elf64_Ehdr& header) {
  const std::string own = DAMARIS_MPI_FLAVOUR;
  if (own != "openmpi" && own != "mpich") return;  // it knows none, and records what is not MPI
  for (const std::string& library : needed_libraries(file, header)) {
    const std::string other = flavour_of(library);
    if (!other.empty() && other != own)
      refuse(format("'{}' is linked with '{}', and this recorder is for {}; record it with a damaris that is built for {}", path,
                    library, own, other));
  }
}

void check_elf(const std::string& path, std::ifstream& file, const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != own_machine())
    refuse(format("'{}' is of another architecture than this recorder, which can therefore not be loaded into it", path));
  if (!has_interpreter(file, header))
    refuse(
        format("'{}' is statically linked: a recorder can only be loaded into dynamically linked programs; link it without -static",
               path));
  check_flavour(path, file, header);
}

void check(const std::string& path, int depth) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) refuse(format("cannot read '{}': {}", path, std::strerror(errno)));
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  if (changes_user || changes_group)
    refuse(format("'{}' changes its user or group (setuid): the system loads no recorder into it; record a copy without that bit",
                  path));
  std::ifstream file(path, std::ios::binary);
  char beginning[256] = {};
  file.read(beginning, sizeof beginning - 1);
  if (!file && file.gcount() == 0) return;  // executable, but not readable: execvp reports it
  if (const auto interpreter = interpreter_of(beginning)) {
    if (depth < 4) check(*interpreter, depth + 1);
    return;
  }
  if (std::memcmp(beginning, ELFMAG, SELFMAG) != 0) return;  // the shell, or a registered interpreter, runs it
  Elf64_Ehdr header{};
  std::memcpy(&header, beginning, sizeof header);
  check_elf(path, file, header);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) refuse("the name of the program is empty");
  if (name.find('/') != std::string::npos) {
    const Found found = look_at(name);
    if (found == Found::yes) return name;
    refuse(found == Found::no ? format("there is no program '{}'", name)
                              : format("'{}' may not be executed; chmod +x makes it so", name));
  }
  const char* const search = std::getenv("PATH");
  const std::string folders = search != nullptr ? search : "/bin:/usr/bin";
  bool forbidden = false;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string folder = folders.substr(at, end - at);
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const Found found = look_at(path);
    if (found == Found::yes) return path;
    forbidden = forbidden || found == Found::forbidden;
    at = end + 1;
  }
  refuse(format("there is no program '{}' on PATH{}", name,
                look_at(name) == Found::yes ? format("; did you mean './{}'?", name)
                : forbidden                 ? " that may be executed"
                                            : ""));
}

void check_program(const std::string& path) { check(path, 0); }

}  // namespace damaris::record
