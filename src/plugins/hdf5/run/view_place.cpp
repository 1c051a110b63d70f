#include "view_place.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "../file_sum.hpp"

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

}  // namespace

std::string ViewPlace::temporary_path(const char* suffix) const {
  return folder + "/" + temporary_start(*this, suffix) + std::to_string(::getpid());
}

void put_in_place(OutputFile& view, const ViewPlace& place) {
  view.sync();
  const auto publish = [&] { view.publish(true); };
  if (!place.tell) return publish();
  const std::string name = std::filesystem::path(view.final_path()).filename().string();
  const FileSum sum = sum_of_file(view.temporary_path());
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
