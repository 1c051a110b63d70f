#include "view_place.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "../file/handle.hpp"
#include "../restart/open_stored.hpp"
#include "core/base/own_file.hpp"
#include "manifest/file_sum.hpp"

namespace damaris::hdf5 {
namespace {

// Up to the process id.
std::string temporary_start(const ViewPlace& place, const char* suffix) {
  return "." + place.stem + suffix + "." + place.host + ".tmp.";
}

bool is_of_the_dead(const std::string& name, const std::string& start) {
  if (name.compare(0, start.size(), start) != 0) return false;
  const std::string pid = name.substr(start.size(), name.find('.', start.size()) - start.size());
  if (pid.empty() || pid.size() > 9 || pid.find_first_not_of("0123456789") != std::string::npos) return false;
  return ::kill(std::atoi(pid.c_str()), 0) != 0 && errno == ESRCH;
}

bool is_master(const std::string& path) {
  const QuietErrors quiet;
  const File file = open_stored(path);
  return H5Aexists(file.id(), "shown_until") > 0 && H5Aexists(file.id(), "damaris_version") > 0;
}

// An earlier version has named no domain: then by what it refers to.
bool is_xdmf(const std::string& path, const std::string& stem) {
  std::string text(std::size_t{1} << 20, '\0');
  text.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(StoredFileReader(path).read(text.data(), text.size(), 0), 0)));
  const bool is_named = text.find(std::string("<Domain Name=\"") + kXdmfDomain) != std::string::npos;
  return is_named || (text.find("<Xdmf") != std::string::npos && text.find(stem + ".") != std::string::npos);
}

bool is_view(const std::string& path, const ViewPlace& place, const std::string& suffix) {
  try {
    return suffix == kMasterSuffix ? is_master(path) : is_xdmf(path, place.stem);
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace

void require_places(const ViewPlace& place) {
  for (const char* suffix : {kMasterSuffix, kXdmfSuffix}) {
    const std::string path = place.final_path(suffix);
    const int descriptor = open_own(path, O_RDONLY, 0666);
    if (descriptor < 0 && errno == ENOENT) continue;
    const std::string why = descriptor < 0 ? why_not_own(path, errno) : "it is none that Damaris has made";
    if (descriptor >= 0) ::close(descriptor);
    if (descriptor >= 0 && is_view(path, place, suffix)) continue;
    throw Error(DC_E_NO_OUTPUT, "the file " + path + " is where the view of the whole run goes, and " + why +
                                    "; move it away, or choose another basename");
  }
}

std::string ViewPlace::temporary_path(const char* suffix) const {
  return folder + "/" + temporary_start(*this, suffix) + std::to_string(::getpid());
}

void put_in_place(OutputFile& view, const ViewPlace& place) {
  view.sync();
  const auto publish = [&] { view.publish(true); };
  if (!place.tell) return publish();
  const std::string name = std::filesystem::path(view.final_path()).filename().string();
  const manifest::FileSum sum = manifest::sum_of_file(view.temporary_path());
  place.tell({name, sum.bytes, sum.checksum}, publish);
}

void remove_leftovers(const ViewPlace& place) {
  std::error_code unreadable;
  for (std::filesystem::directory_iterator next(place.folder, unreadable), end; !unreadable && next != end;
       next.increment(unreadable)) {
    const std::string name = next->path().filename().string();
    for (const char* suffix : {kMasterSuffix, kXdmfSuffix})
      if (is_of_the_dead(name, temporary_start(place, suffix))) ::unlink(next->path().c_str());
  }
}

}  // namespace damaris::hdf5
