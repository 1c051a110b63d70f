#include "view_place.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "../file/handle.hpp"
#include "../restart/stored_values.hpp"
#include "core/base/own_file.hpp"
#include "manifest/output_folder.hpp"

namespace damaris::hdf5 {
namespace {

// "time", "time_1", "time_2": the first one has no number.
std::string numbered(const std::string& name, std::size_t number) {
  return number == 0 ? name : name + "_" + std::to_string(number);
}

// With at most three dimensions, the last is x. The first dimension of a stack is "block".
std::string dimension_name(int dimension, int ndims) {
  if (ndims > 3) return std::to_string(dimension);
  return std::string(1, "zyx"[3 - ndims + dimension]);
}

std::string dimension_name(int dimension, const GlobalArray& array) {
  if (!array.is_stack()) return dimension_name(dimension, array.box.ndims);
  return dimension == 0 ? "block" : dimension_name(dimension - 1, array.box.ndims - 1);
}

// The last components of the paths of all groups and variables, with their numbers of occurrences.
std::map<std::string, std::size_t> users_of_names(const dc_host_t& host) {
  std::set<std::string> paths;
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const std::string path = host.variables[i].path;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      paths.insert(path.substr(0, end));
    paths.insert(path);
  }
  std::map<std::string, std::size_t> users;
  for (const std::string& path : paths) ++users[path.substr(path.rfind('/') + 1)];
  return users;
}

// The key of arrays that share dimensions. One-dimensional lists of equal length are often unrelated, so they share only within a layout.
std::pair<std::string, std::vector<std::int64_t>> space_of(const GlobalArray& array) {
  std::vector<std::int64_t> numbers;
  for (int d = 0; d < array.box.ndims; ++d) {
    numbers.push_back(array.box.low[d]);
    numbers.push_back(array.box.extent(d));
    numbers.push_back(array.coordinates[static_cast<std::size_t>(d)]);
  }
  if (!array.is_stack()) return {array.box.ndims > 1 ? "" : array.variable->layout, numbers};
  numbers.insert(numbers.end(), array.sources.begin(), array.sources.end());
  numbers.insert(numbers.end(), array.blocks.begin(), array.blocks.end());
  return {array.variable->layout, numbers};
}

}  // namespace

ViewNames::ViewNames(const GlobalView& view, const dc_host_t& host) {
  const std::map<std::string, std::size_t> users = users_of_names(host);
  for (const auto& [name, count] : users) taken_.insert(name);
  for (std::size_t axis = 0; axis < view.axes.size(); ++axis) {
    times_.push_back(free(numbered("time", axis)));
    steps_.push_back(free(numbered("iteration", axis)));
  }
  for (const GlobalArray& coordinate : view.coordinates) {
    const std::string name = coordinate.variable->name;
    coordinates_.push_back(users.at(name) == 1 ? name : free(name));  // unique, so it means the same everywhere
  }
  for (const GlobalArray& array : view.arrays) dimensions_.push_back(dimensions_of(array));
}

const std::vector<std::string>& ViewNames::dimensions_of(const GlobalArray& array) {
  const std::string layout = array.variable->layout;
  const auto [found, fresh] = known_.emplace(space_of(array), std::vector<std::string>());
  if (!fresh) return found->second;
  const bool labelled =
      std::all_of(array.coordinates.begin(), array.coordinates.end(), [](int coordinate) { return coordinate >= 0; });
  const std::string stem = labelled ? "" : numbered(layout, shapes_[layout]++);
  for (int d = 0; d < array.box.ndims; ++d) {
    const int coordinate = array.coordinates[static_cast<std::size_t>(d)];
    found->second.push_back(coordinate < 0 ? free(stem + "_" + dimension_name(d, array))
                                           : coordinates_[static_cast<std::size_t>(coordinate)]);
  }
  return found->second;
}

std::string ViewNames::free(std::string wanted) {
  while (!taken_.insert(wanted).second) wanted += "_";
  return wanted;
}

namespace {

// The temporary name up to the process id.
std::string temporary_start(const ViewPlace& place, const char* suffix) {
  return "." + place.stem + suffix + "." + place.host + ".tmp.";
}

bool is_of_dead_process(const std::string& name, const std::string& start) {
  if (name.compare(0, start.size(), start) != 0) return false;
  const std::string pid = name.substr(start.size(), name.find('.', start.size()) - start.size());
  if (pid.empty() || pid.size() > 9 || pid.find_first_not_of("0123456789") != std::string::npos) return false;
  return manifest::is_dead(std::atoi(pid.c_str()));
}

bool is_master(const std::string& path) {
  const QuietErrors quiet;
  const File file = open_stored(path);
  return H5Aexists(file.id(), "shown_until") > 0 && H5Aexists(file.id(), "damaris_version") > 0;
}

// Earlier versions did not name the domain: recognize their files by what they refer to.
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
    const std::string why = descriptor < 0 ? why_not_own(path, errno) : "it was not written by Damaris";
    if (descriptor >= 0) ::close(descriptor);
    if (descriptor >= 0 && is_view(path, place, suffix)) continue;
    throw Error(DC_E_NO_OUTPUT, "the file " + path + " is in the place of the view of the whole run, and " + why +
                                    "; move it away, or choose another basename");
  }
}

std::string why_taken(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0 || (info.st_uid == ::geteuid() && !S_ISDIR(info.st_mode))) return "";
  const int descriptor = open_own(path, O_RDONLY, 0666);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0 || error == EMFILE || error == ENFILE ? "" : why_not_own(path, error);
}

std::string ViewPlace::temporary_path(const char* suffix) const {
  return folder + "/" + temporary_start(*this, suffix) + std::to_string(::getpid());
}

void put_in_place(OutputFile& view, const ViewPlace& place) {
  view.sync();
  if (place.record_view) {
    const std::string name = std::filesystem::path(view.final_path()).filename().string();
    const manifest::FileSum sum = manifest::sum_of_file(view.temporary_path());
    place.record_view({name, sum.bytes, sum.checksum});
  }
  view.publish(true);
}

void remove_leftovers(const ViewPlace& place) {
  std::error_code unreadable;
  for (std::filesystem::directory_iterator next(place.folder, unreadable), end; !unreadable && next != end;
       next.increment(unreadable)) {
    const std::string name = next->path().filename().string();
    for (const char* suffix :
         {kMasterSuffix, kXdmfSuffix, ".jsonl"})  // the last: the list of steps, which the manifest's writer makes
      if (is_of_dead_process(name, temporary_start(place, suffix))) ::unlink(next->path().c_str());
  }
}

}  // namespace damaris::hdf5
