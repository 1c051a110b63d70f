#include "recorder/damaris_layer.hpp"

#include <damaris/damaris.h>

#include <cstdio>
#include <cstring>

#include "recorder/handles.hpp"
#include "recorder/objects.hpp"
#include "recorder/real.hpp"
#include "trace/slot.hpp"

namespace damaris::recorder {
namespace {

Handles<> variables, logs;
Handles<const char*> names;  // of handles, never freed
const Forgetting forgetting{[] {
  variables.forget();
  logs.forget();
  names.forget();
}};

bool layout_of(const void* function, const char* name, dc_layout_t& layout) {
  static decltype(&dc_get_layout) get = nullptr;
  if (get == nullptr) get = reinterpret_cast<decltype(&dc_get_layout)>(find_beside(function, "dc_get_layout"));
  return get != nullptr && get(name, &layout) == DC_OK;
}

// A later session may give the same address to another name.
void keep(const void* handle, const char* name) {
  const char* const known = name_of(handle);
  if (known == nullptr || std::strcmp(known, name) != 0) names.put(reinterpret_cast<std::uintptr_t>(handle), ::strdup(name));
}

}  // namespace

std::uint32_t of_log(const char* name) {
  if (name == nullptr) return 0;
  if (const std::uint32_t known = logs.get(hash_of(name)); known != 0) return known;
  char text[600], plain[512];
  copy_plain(plain, sizeof plain, name);
  std::snprintf(text, sizeof text, "kind=log\nname=%s\n", plain);
  return logs.put(hash_of(name), described(text));
}

std::uint32_t of_log_handle(const char* name, const void* handle) {
  keep(handle, name);
  return of_log(name);
}

std::uint64_t bytes_of(const dc_piece_t* pieces, int count) {
  std::uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += pieces[i].bytes;
  return sum;
}

std::int64_t offset_of(const dc_position_t* where) {
  return where == nullptr ? trace::kNowhere : static_cast<std::int64_t>(where->offset);
}

std::uint32_t of_variable(const void* function, const char* name) {
  if (name == nullptr) return 0;
  const std::uint64_t hash = hash_of(name);
  if (const std::uint32_t known = variables.get(hash); known != 0) return known;
  char text[2048], plain[512];
  copy_plain(plain, sizeof plain, name);
  int length = std::snprintf(text, sizeof text, "kind=variable\nname=%s\n", plain);
  dc_layout_t layout;
  if (layout_of(function, name, layout)) {
    length += std::snprintf(text + length, sizeof text - length,
                            "element_bytes=%llu\nextents=", static_cast<unsigned long long>(layout.element_bytes));
    for (int i = 0; i < layout.ndims; ++i)
      length += std::snprintf(text + length, sizeof text - length, "%s%lld", i == 0 ? "" : "x",
                              static_cast<long long>(layout.extents[i]));
    std::snprintf(text + length, sizeof text - length, "\n");
  }
  return variables.put(hash, described(text));
}

std::uint32_t of_handle(const void* function, const char* name, const void* handle) {
  keep(handle, name);
  return of_variable(function, name);
}

const char* name_of(const void* handle) { return names.get(reinterpret_cast<std::uintptr_t>(handle)); }

std::uint64_t block_bytes(const void* function, const char* variable, int result) {
  dc_layout_t layout;
  return result == DC_OK && variable != nullptr && layout_of(function, variable, layout) ? layout.bytes : 0;
}

}  // namespace damaris::recorder
