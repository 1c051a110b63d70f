// A log of the manifest: lines as a crash, another version or an editor may have left them, with a checksum that fits.
#include <damaris/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <variant>

#include "core/base/json.hpp"
#include "fuzz.hpp"
#include "manifest/log_reader.hpp"
#include "manifest/records.hpp"
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

// The lines of the input, those that may be objects sealed.
std::string sealed_lines(const std::uint8_t* data, std::size_t size) {
  std::string text;
  std::istringstream input(std::string(reinterpret_cast<const char*>(data), size));
  for (std::string line; std::getline(input, line);)
    text += (!line.empty() && line.back() == '}' ? manifest::sealed(line) : line) + "\n";
  return text;
}

void check_step(const manifest::StepEntry& step) {
  const std::string text = text_of(manifest::to_json(step));
  const std::string again = text_of(manifest::to_json(manifest::step_from_json(Json::parse(text))));
  require(text == again, "a step that is read and written is the same", text + "\n" + again);
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
  const std::string text = sealed_lines(data, size);
  const MemoryFile file(text.data(), text.size());
  try {
    manifest::LogReader reader(file.path(), {1, "n", 0});
    reader.was_replaced();
    for (const manifest::LogRecord& record : reader.read_on(text.size() + 1)) {
      const auto* const step = std::get_if<manifest::StepRecord>(&record);
      if (step == nullptr) continue;
      check_step(step->step);
      try {
        for (const manifest::FileEntry& one : reader.files_at(step->place, ""))
          for (const manifest::DatasetEntry& dataset : one.datasets) {
            manifest::StepEntry whole = step->step;
            whole.files = {one};
            ask(whole, dataset, true), ask(whole, dataset, false);
          }
      } catch (const Error& error) {
        require(error.code() == DC_E_IO, "a record that is damaged is refused", error.sentence());
      }
    }
  } catch (const Error& error) {
    require(error.code() == DC_E_VERSION, "only a newer version refuses the whole log", error.sentence());
  }
  return 0;
}
