#include "tools/replay_ranks/collective_files.hpp"

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
  if (one.kind == Kind::open) {
    const std::string name = folder_ + "/" + outputs_.plan.files[outputs_.first_file + output].name;
    return text_of(MPI_File_open(writers_[output], name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file_),
                   "MPI_File_open");
  }
  if (one.kind == Kind::write)
    return text_of(MPI_File_write_at_all(file_, static_cast<MPI_Offset>(one.offset), data, static_cast<int>(one.bytes), MPI_BYTE,
                                         MPI_STATUS_IGNORE),
                   "MPI_File_write_at_all");
  if (one.kind == Kind::sync) return text_of(MPI_File_sync(file_), "MPI_File_sync");
  return text_of(MPI_File_close(&file_), "MPI_File_close");
}

}  // namespace damaris::replay
