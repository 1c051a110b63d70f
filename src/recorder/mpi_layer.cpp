#include "recorder/mpi_layer.hpp"

#include <cstdio>
#include <cstring>

#include "recorder/call.hpp"
#include "recorder/handles.hpp"
#include "recorder/mpi_requests.hpp"
#include "recorder/objects.hpp"
#include "recorder/real.hpp"

namespace damaris::recorder::mpi {
namespace {

struct Library {
  bool met;
  decltype(&PMPI_Type_size) type_size;
  decltype(&PMPI_Get_count) get_count;
  decltype(&PMPI_Comm_rank) comm_rank;
  decltype(&PMPI_Comm_size) comm_size;
  decltype(&PMPI_Comm_remote_size) comm_remote_size;
  decltype(&PMPI_Comm_get_name) comm_get_name;
  decltype(&PMPI_Comm_test_inter) comm_test_inter;
  decltype(&PMPI_Comm_group) comm_group;
  decltype(&PMPI_Group_translate_ranks) group_translate_ranks;
  decltype(&PMPI_Group_free) group_free;
  decltype(&PMPI_File_get_byte_offset) file_get_byte_offset;
  decltype(&PMPI_File_get_position) file_get_position;
  decltype(&PMPI_File_get_amode) file_get_amode;
  MPI_Comm null;
  MPI_Datatype no_type;
};
Library library;

struct Comm {
  std::uint32_t object;
  unsigned children;  // made from it so far
  char id[96];
};
Handles<Comm*> comms;
Handles<> files;
const Forgetting forgetting{[] {
  comms.forget();
  files.forget();
}};

// `id` is the same in all processes and for no other communicator of the job; "" where that is not known.
Comm* describe(MPI_Comm comm, const char* id) {
  char text[1024], name[MPI_MAX_OBJECT_NAME + 1] = "", plain[MPI_MAX_OBJECT_NAME + 1];
  int length = 0, rank = -1, size = -1;
  if (library.comm_get_name != nullptr && library.comm_get_name(comm, name, &length) != MPI_SUCCESS) name[0] = '\0';
  copy_plain(plain, sizeof plain, name);
  library.comm_rank(comm, &rank);
  library.comm_size(comm, &size);
  if (id == nullptr) id = std::strcmp(name, "MPI_COMM_WORLD") == 0 ? "world" : "";
  auto* const known = new Comm{};
  std::snprintf(known->id, sizeof known->id, "%s", id);
  std::snprintf(text, sizeof text, "kind=communicator\nname=%s\nid=%s\nrank=%d\nsize=%d\n", plain, known->id, rank, size);
  known->object = described(text);
  return comms.put(key(comm), known);
}

Comm* known(MPI_Comm comm) {
  Comm* const found = comms.get(key(comm));
  return found != nullptr ? found : describe(comm, nullptr);
}

// The rank in `parent` of the first member of `comm`; -1 if MPI does not say.
int first_member(MPI_Comm parent, MPI_Comm comm) {
  MPI_Group all, members;
  const int first = 0;
  int found = -1;
  if (library.comm_group(parent, &all) != MPI_SUCCESS || library.comm_group(comm, &members) != MPI_SUCCESS) return -1;
  library.group_translate_ranks(members, 1, &first, all, &found);
  library.group_free(&all);
  library.group_free(&members);
  return found;
}

}  // namespace

void meet(const void* function) {
  if (__builtin_expect(library.met, 1)) return;
  this_thread.quiet = __builtin_frame_address(0);
  find(function, "PMPI_Type_size", library.type_size);
  find(function, "PMPI_Get_count", library.get_count);
  find(function, "PMPI_Comm_rank", library.comm_rank);
  find(function, "PMPI_Comm_size", library.comm_size);
  find(function, "PMPI_Comm_remote_size", library.comm_remote_size);
  find(function, "PMPI_Comm_get_name", library.comm_get_name);
  find(function, "PMPI_Comm_test_inter", library.comm_test_inter);
  find(function, "PMPI_Comm_group", library.comm_group);
  find(function, "PMPI_Group_translate_ranks", library.group_translate_ranks);
  find(function, "PMPI_Group_free", library.group_free);
  find(function, "PMPI_File_get_byte_offset", library.file_get_byte_offset);
  find(function, "PMPI_File_get_position", library.file_get_position);
  find(function, "PMPI_File_get_amode", library.file_get_amode);
#ifdef OPEN_MPI
  find_handle(function, "ompi_mpi_comm_null", library.null);
  find_handle(function, "ompi_mpi_datatype_null", library.no_type);
#else
  library.null = MPI_COMM_NULL;
  library.no_type = MPI_DATATYPE_NULL;
#endif
  meet_requests(function);
  __atomic_store_n(&library.met, true, __ATOMIC_RELEASE);
  this_thread.quiet = nullptr;
}

std::uint32_t of_comm(MPI_Comm comm) { return known(comm)->object; }

std::uint32_t made(MPI_Comm parent, MPI_Comm comm) {
  Comm& above = *known(parent);
  const unsigned number = ++above.children;
  if (comm == library.null) return 0;
  int is_inter = 1;
  char id[sizeof above.id + 24] = "";
  const bool has_id = above.id[0] != '\0' && library.comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0;
  if (has_id) std::snprintf(id, sizeof id, "%s.%u.%d", above.id, number, first_member(parent, comm));
  return describe(comm, std::strlen(id) < sizeof above.id ? id : "")->object;
}

std::uint32_t left(MPI_Comm comm) {
  const Comm* const found = comms.get(key(comm));
  const std::uint32_t object = found == nullptr ? 0 : found->object;
  comms.remove(key(comm));
  delete found;
  return object;
}

std::uint32_t opened(const char* name, MPI_File file) { return files.put(key(file), of_name(name)); }
std::uint32_t of_file(MPI_File file) { return files.get(key(file)); }
std::uint32_t left_file(MPI_File file) {
  const std::uint32_t known = files.get(key(file));
  files.remove(key(file));
  return known;
}

std::int64_t place(MPI_File file, MPI_Offset offset) {
  MPI_Offset byte = 0;
  // Unknown to this recorder, a file may have been closed.
  if (offset < 0 || of_file(file) == 0 || library.file_get_byte_offset(file, offset, &byte) != MPI_SUCCESS) return trace::kNowhere;
  return byte;
}

std::int64_t position(MPI_File file) {
  MPI_Offset offset = 0;
  int mode = 0;
  const bool has_position =
      of_file(file) != 0 && library.file_get_amode(file, &mode) == MPI_SUCCESS && (mode & MPI_MODE_SEQUENTIAL) == 0;
  if (!has_position || library.file_get_position(file, &offset) != MPI_SUCCESS) return trace::kNowhere;
  return place(file, offset);
}

std::uint64_t bytes(int count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || type == library.no_type || library.type_size(type, &size) != MPI_SUCCESS || size <= 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

std::uint64_t sent(const void* buffer, int count, MPI_Datatype type) { return buffer == MPI_IN_PLACE ? 0 : bytes(count, type); }

std::uint64_t sum(const void* buffer, const int* counts, MPI_Datatype type, std::uint64_t number) {
  std::uint64_t sum = 0;
  if (buffer == MPI_IN_PLACE) return 0;
  for (std::uint64_t i = 0; i < number; ++i) sum += bytes(counts[i], type);
  return sum;
}

std::uint64_t size(MPI_Comm comm) {
  int size = 0;
  return library.comm_size(comm, &size) == MPI_SUCCESS ? static_cast<std::uint64_t>(size) : 0;
}

std::uint64_t partners(MPI_Comm comm) {
  int is_inter = 0, size = 0;
  if (library.comm_test_inter == nullptr || library.comm_remote_size == nullptr) return 0;
  if (library.comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return 0;
  const int result = is_inter != 0 ? library.comm_remote_size(comm, &size) : library.comm_size(comm, &size);
  return result == MPI_SUCCESS ? static_cast<std::uint64_t>(size) : 0;
}

std::uint64_t received(const MPI_Status* status, MPI_Datatype type, int result) {
  int count = 0;
  if (result != MPI_SUCCESS || library.get_count(status, type, &count) != MPI_SUCCESS || count < 0) return 0;
  return bytes(count, type);
}

}  // namespace damaris::recorder::mpi
