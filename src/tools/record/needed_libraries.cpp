#include "tools/record/needed_libraries.hpp"

#include <algorithm>
#include <cstdint>

namespace damaris::record {
namespace {

constexpr std::size_t kMostEntries = 10'000;

// `count` items at an offset of the file; fewer if it ends before.
template <class Item>
std::vector<Item> read_at(std::istream& file, std::uint64_t offset, std::size_t count) {
  std::vector<Item> items(std::min(count, kMostEntries));
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(items.data()), static_cast<std::streamsize>(items.size() * sizeof(Item)));
  items.resize(static_cast<std::size_t>(file.gcount()) / sizeof(Item));
  return items;
}

std::string text_at(std::istream& file, std::uint64_t offset) {
  std::string text;
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  std::getline(file, text, '\0');
  return text;
}

}  // namespace

std::vector<std::string> needed_libraries(std::istream& file, const Elf64_Ehdr& header) {
  const auto segments = read_at<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  std::vector<std::uint64_t> names;
  std::uint64_t texts = 0;  // as an address of the program in memory
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (const auto& entry : read_at<Elf64_Dyn>(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn))) {
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) texts = entry.d_un.d_ptr;
    }
  }
  std::vector<std::string> libraries;
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && texts >= segment.p_vaddr && texts - segment.p_vaddr < segment.p_filesz)
      for (const std::uint64_t name : names)
        libraries.push_back(text_at(file, segment.p_offset + (texts - segment.p_vaddr) + name));
  return libraries;
}

}  // namespace damaris::record
