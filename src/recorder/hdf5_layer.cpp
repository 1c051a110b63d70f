#include "recorder/hdf5_layer.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>

#include "recorder/handles.hpp"
#include "recorder/objects.hpp"
#include "recorder/real.hpp"

namespace damaris::recorder::hdf5 {
namespace {

// One HDF5 library of the process.
struct Library {
  const void* base;
  std::uint64_t number;
  int attribute_type;  // H5I_ATTR, another number since 1.12
  decltype(&H5Iis_valid) is_valid;
  decltype(&H5Iget_type) get_type;
  decltype(&H5Iget_name) get_name;
  decltype(&H5Idec_ref) release;
  decltype(&H5Fget_name) get_file_name;
  decltype(&H5Aget_name) get_attribute_name;
  decltype(&H5Dget_space) get_space;
  decltype(&H5Aget_space) get_attribute_space;
  decltype(&H5Dget_type) get_element_type;
  decltype(&H5Tget_class) get_class;
  decltype(&H5Tget_size) get_size;
  decltype(&H5Sget_simple_extent_npoints) get_points;
  decltype(&H5Sget_select_npoints) get_selected;
  decltype(&H5Sget_simple_extent_dims) get_extents;
};
constexpr unsigned kMost = 8;
Library libraries[kMost];
unsigned count;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

Handles<> identifiers, unnamed, files;  // by identifier, and by the hash of a file's name
const Forgetting forgetting{[] {
  identifiers.forget();
  unnamed.forget();
  files.forget();
  lock = PTHREAD_MUTEX_INITIALIZER;
}};

void find_functions(Library& in, const void* beside) {
  decltype(&H5get_libversion) get_version = nullptr;
  unsigned major = 0, minor = 0, release = 0;
  find(beside, "H5get_libversion", get_version);
  if (get_version != nullptr) get_version(&major, &minor, &release);
  in.attribute_type = major > 1 || minor >= 12 ? 7 : 6;
  find(beside, "H5Iis_valid", in.is_valid);
  find(beside, "H5Iget_type", in.get_type);
  find(beside, "H5Iget_name", in.get_name);
  find(beside, "H5Idec_ref", in.release);
  find(beside, "H5Fget_name", in.get_file_name);
  find(beside, "H5Aget_name", in.get_attribute_name);
  find(beside, "H5Dget_space", in.get_space);
  find(beside, "H5Aget_space", in.get_attribute_space);
  find(beside, "H5Dget_type", in.get_element_type);
  find(beside, "H5Tget_class", in.get_class);
  find(beside, "H5Tget_size", in.get_size);
  find(beside, "H5Sget_simple_extent_npoints", in.get_points);
  find(beside, "H5Sget_select_npoints", in.get_selected);
  find(beside, "H5Sget_simple_extent_dims", in.get_extents);
}

// nullptr: it is the ninth.
const Library* library_of(const void* function) {
  struct Last {
    const void* function;
    const Library* library;
  };
  thread_local Last last __attribute__((tls_model("initial-exec"))) = {nullptr, nullptr};
  if (last.function == function) return last.library;
  Dl_info info = {};
  if (::dladdr(function, &info) == 0) return nullptr;
  ::pthread_mutex_lock(&lock);
  unsigned i = 0;
  while (i < count && libraries[i].base != info.dli_fbase) ++i;
  if (i == count && count < kMost) {
    libraries[i].base = info.dli_fbase;
    libraries[i].number = i;
    find_functions(libraries[i], function);
    ++count;
  }
  ::pthread_mutex_unlock(&lock);
  last = {function, i < kMost ? &libraries[i] : nullptr};
  return last.library;
}

// Two libraries give equal identifiers to different objects.
std::uint64_t key(const Library& library, hid_t id) { return static_cast<std::uint64_t>(id) ^ library.number << 48; }

// The file that was last opened by this name: a later one may be another.
std::uint32_t file_named(const char* name) {
  const std::uint32_t known = files.get(hash_of(name));
  return known != 0 ? known : files.put(hash_of(name), of_name(name));
}

std::uint32_t file_of(const Library& library, hid_t id) {
  char name[4096];
  return library.get_file_name(id, name, sizeof name) > 0 ? file_named(name) : 0;
}

int add_type(const Library& library, hid_t dataset, char* text, std::size_t room) {
  const hid_t type = library.get_element_type(dataset);
  if (type < 0) return 0;
  const H5T_class_t kind = library.get_class(type);
  const char* const name = kind == H5T_INTEGER    ? "int"
                           : kind == H5T_FLOAT    ? "float"
                           : kind == H5T_STRING   ? "string"
                           : kind == H5T_COMPOUND ? "compound"
                                                  : "other";
  const int length = std::snprintf(text, room, "type=%s%zu\n", name, 8 * library.get_size(type));
  library.release(type);
  return length;
}

int add_extents(const Library& library, hid_t dataset, char* text, std::size_t room) {
  const hid_t space = library.get_space(dataset);
  hsize_t extents[H5S_MAX_RANK];
  int length = std::snprintf(text, room, "extents=");
  const int rank = space < 0 ? 0 : library.get_extents(space, extents, nullptr);
  for (int i = 0; i < rank; ++i)
    length += std::snprintf(text + length, room - static_cast<std::size_t>(length), "%s%llu", i == 0 ? "" : "x",
                            static_cast<unsigned long long>(extents[i]));
  if (space >= 0) library.release(space);
  return length + std::snprintf(text + length, room - static_cast<std::size_t>(length), "\n");
}

std::size_t name_of(const Library& library, hid_t id, bool is_attribute, char (&name)[2048]) {
  if (library.get_name(id, name, sizeof name) < 0) name[0] = '\0';
  const std::size_t length = std::strlen(name);
  if (!is_attribute || length + 2 >= sizeof name) return length;
  name[length] = '@';
  if (library.get_attribute_name(id, sizeof name - length - 1, name + length + 1) < 0) name[length] = '\0';
  return std::strlen(name);
}

// A dataset may get its name after it was made: then the number is described once more.
std::uint32_t describe(const Library& library, hid_t id, std::uint32_t number) {
  static thread_local char text[8192], name[2048], plain[2048];
  name[0] = '\0';
  const int kind = library.get_type(id);
  if (kind == H5I_FILE) return file_of(library, id);
  const std::size_t named = name_of(library, id, kind == library.attribute_type, name);
  if (number != 0 && named == 0) return number;
  copy_plain(plain, sizeof plain, name);
  const char* const word = kind == H5I_DATASET              ? "dataset"
                           : kind == library.attribute_type ? "attribute"
                           : kind == H5I_GROUP              ? "group"
                                                            : "other";
  int length = std::snprintf(text, sizeof text, "kind=%s\nname=%s\nparent=%u\n", word, plain, file_of(library, id));
  if (kind == H5I_DATASET) {
    length += add_type(library, id, text + length, sizeof text - static_cast<std::size_t>(length));
    add_extents(library, id, text + length, sizeof text - static_cast<std::size_t>(length));
  }
  number = described(text, number);
  if (named == 0)
    unnamed.put(key(library, id), number);
  else
    unnamed.remove(key(library, id));
  return number;
}

std::uint32_t known(const Library& library, hid_t id) {
  const std::uint32_t number = identifiers.get(key(library, id));
  return number != 0 && unnamed.get(key(library, id)) != 0 && library.is_valid(id) > 0 ? describe(library, id, number) : number;
}

std::uint64_t elements(const Library& library, hid_t space) {
  const hssize_t found = space < 0 ? 0 : library.get_points(space);
  if (space >= 0) library.release(space);
  return found > 0 ? static_cast<std::uint64_t>(found) : 0;
}

}  // namespace

std::uint32_t file_opened(const void* function, const char* name, hid_t file) {
  const Library* const library = library_of(function);
  return library == nullptr ? 0 : identifiers.put(key(*library, file), files.put(hash_of(name), of_name(name)));
}

std::uint32_t made(const void* function, hid_t id) {
  const Library* const library = library_of(function);
  return library == nullptr ? 0 : identifiers.put(key(*library, id), describe(*library, id, 0));
}

std::uint32_t of(const void* function, hid_t id) {
  const Library* const library = library_of(function);
  if (library == nullptr) return 0;
  if (const std::uint32_t number = known(*library, id); number != 0) return number;
  // HDF5 complains of a wrong identifier when the call comes, not here.
  if (library->is_valid(id) <= 0) return 0;
  const int kind = library->get_type(id);
  const bool has_name = kind == H5I_FILE || kind == H5I_GROUP || kind == H5I_DATASET || kind == library->attribute_type;
  return has_name ? identifiers.put(key(*library, id), describe(*library, id, 0)) : 0;
}

std::uint32_t left(const void* function, hid_t id) {
  const Library* const library = library_of(function);
  if (library == nullptr) return 0;
  const std::uint32_t number = known(*library, id);
  identifiers.remove(key(*library, id));
  unnamed.remove(key(*library, id));
  return number;
}

std::uint32_t of_known(const void* function, hid_t id) {
  const Library* const library = library_of(function);
  const std::uint32_t number = library == nullptr ? 0 : known(*library, id);
  return number != 0 ? number : kDropped;
}

std::uint64_t bytes(const void* function, hid_t dataset, hid_t type, hid_t memory, hid_t file, int result) {
  const Library* const library = library_of(function);
  if (library == nullptr || result < 0) return 0;
  constexpr hid_t kLastSpecial = 2;  // H5S_ALL, and since 1.14 H5S_BLOCK and H5S_PLIST
  std::uint64_t moved = 0;
  if (memory > kLastSpecial || file > kLastSpecial) {
    const hssize_t selected = library->get_selected(memory > kLastSpecial ? memory : file);
    moved = selected > 0 ? static_cast<std::uint64_t>(selected) : 0;
  } else {
    moved = elements(*library, library->get_space(dataset));
  }
  return moved * library->get_size(type);
}

std::uint64_t attribute_bytes(const void* function, hid_t attribute, hid_t type, int result) {
  const Library* const library = library_of(function);
  if (library == nullptr || result < 0) return 0;
  return elements(*library, library->get_attribute_space(attribute)) * library->get_size(type);
}

}  // namespace damaris::recorder::hdf5
