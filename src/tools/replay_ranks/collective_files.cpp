#include "tools/replay_ranks/collective_files.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>

#include "core/base/format.hpp"

namespace damaris::replay {
namespace {

std::string text_of(int error, const char* call) {
  if (error == MPI_SUCCESS) return "";
  char text[MPI_MAX_ERROR_STRING] = {};
  int bytes = 0;
  MPI_Error_string(error, text, &bytes);
  return format("{} has failed: {}; replay on another folder, see --on", call, text);
}

}  // namespace

CollectiveFiles::CollectiveFiles(const Outputs& outputs, const std::string& folder, MPI_Comm world)
    : outputs_(outputs), folder_(folder) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(world, &all);
  std::map<std::vector<std::uint32_t>, MPI_Comm> known;
  for (const std::vector<std::uint32_t>& writers : outputs.writers) {
    writers_.push_back(MPI_COMM_NULL);
    if (!std::binary_search(writers.begin(), writers.end(), static_cast<std::uint32_t>(rank))) continue;
    if (const auto found = known.find(writers); found != known.end()) {
      writers_.back() = found->second;
      continue;
    }
    const std::vector<int> ranks(writers.begin(), writers.end());
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
    MPI_Comm_create_group(world, group, 0, &writers_.back());
    MPI_Group_free(&group);
    known[writers] = writers_.back();
    owned_.push_back(writers_.back());
  }
  MPI_Group_free(&all);
}

CollectiveFiles::~CollectiveFiles() {
  for (MPI_Comm& one : owned_) MPI_Comm_free(&one);
}

std::string CollectiveFiles::call(const Operation& one, std::uint32_t output, const void* data) {
  const std::string name = folder_ + "/" + outputs_.plan.files[outputs_.first_file + output].name;
  if (one.kind == Kind::open) {
    reach_ = 0;
    return text_of(MPI_File_open(writers_[output], name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file_),
                   "MPI_File_open");
  }
  if (one.kind == Kind::write) {
    if (one.bytes > 0) reach_ = one.offset + one.bytes;
    return text_of(MPI_File_write_at_all(file_, static_cast<MPI_Offset>(one.offset), data, static_cast<int>(one.bytes), MPI_BYTE,
                                         MPI_STATUS_IGNORE),
                   "MPI_File_write_at_all");
  }
  if (one.kind == Kind::sync) return text_of(MPI_File_sync(file_), "MPI_File_sync");
  const std::string wrong = text_of(MPI_File_close(&file_), "MPI_File_close");
  if (!wrong.empty()) return wrong;
  // OMPIO reports no write that the file system has refused.
  struct stat found {};
  struct statvfs room {};
  const bool is_short = ::stat(name.c_str(), &found) != 0 || static_cast<std::uint64_t>(found.st_size) < reach_;
  if (!is_short && (::statvfs(folder_.c_str(), &room) != 0 || room.f_blocks == 0 || room.f_bavail > 0)) return "";
  return format("after MPI_File_write_at_all '{}' {}; replay on another folder, see --on", name,
                is_short ? "lacks bytes" : "may lack bytes, as the file system is full");
}

}  // namespace damaris::replay
