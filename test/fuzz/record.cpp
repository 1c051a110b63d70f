// The manifest: lines as a crash, another version or an editor may have left them.
#include <damaris/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/json.hpp"
#include "fuzz.hpp"
#include "manifest/reader.hpp"
#include "manifest/stored_parts.hpp"

using namespace damaris;
using fuzz::require;

namespace {

// A file that has a path and no place on a disk.
class MemoryFile {
 public:
  explicit MemoryFile(const void* data, std::size_t size) : descriptor_(::memfd_create("record", MFD_CLOEXEC)) {
    require(descriptor_ >= 0 && ::write(descriptor_, data, size) == static_cast<ssize_t>(size), "a file in memory can be made");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void check_line(const manifest::StepEntry& step) {
  const std::string line = manifest::to_json(step).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string again = manifest::to_json(manifest::step_from_json(Json::parse(line))).dump();
  require(line == again, "a line of the manifest that is read and written is the same", line + "\n" + again);
  require(manifest::is_trustworthy(manifest::sealed(line, "01234567")), "a sealed line can be believed", line);
}

// What restart asks of a manifest: each dataset of it, by its place and by its client.
void ask(const manifest::StepEntry& step, const manifest::DatasetEntry& dataset, bool has_position) {
  dc_variable_info_t variable = {};
  variable.path = variable.name = dataset.variable.c_str();
  variable.type = DC_FLOAT64;
  variable.element_bytes = 8;
  variable.ndims = std::max(1, dataset.box.ndims);
  variable.has_global = 1;
  dc_read_t read = {};
  read.variable = &variable;
  read.source = dataset.source;
  read.block = dataset.block;
  read.has_position = has_position ? 1 : 0;
  for (int d = 0; d < dataset.box.ndims; ++d) read.extents[d] = dataset.box.extent(d), read.position[d] = dataset.box.low[d];
  try {
    manifest::find_parts(step, read);
  } catch (const Error& error) {
    require(error.code() == DC_E_NOT_STORED || error.code() == DC_E_SHAPE, "what is not there is refused", error.sentence());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  const manifest::Outline outline = manifest::outline_of(file.path());
  require(outline.replaced_until <= size, "what was replaced lies in the file");
  try {
    manifest::Reader reader(file.path());
    reader.read_on();
    for (const auto& [number, step] : reader.steps()) {
      reader.unreported_servers(number);
      require(reader.damage_since(number).empty() || !reader.damaged().empty(), "nothing is doubted where nothing is damaged");
      check_line(step);
      for (const manifest::FileEntry& one : step.files)
        for (const manifest::DatasetEntry& dataset : one.datasets) ask(step, dataset, true), ask(step, dataset, false);
    }
  } catch (const Error& error) {
    require(error.code() == DC_E_VERSION, "only a newer version refuses the whole record", error.sentence());
  }
  return 0;
}
