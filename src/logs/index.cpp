#include "logs/index.hpp"

#include <damaris/damaris.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"

namespace damaris::logs {
namespace {

constexpr std::size_t kEntriesAtOnce = 4096;

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw Error(DC_E_IO, format("{} {}", path, why)); }

std::size_t read_some(const StoredFileReader& file, const std::string& path, void* to, std::size_t bytes, std::uint64_t at) {
  std::size_t done = 0;
  while (done < bytes) {
    const std::ptrdiff_t got = file.read(static_cast<char*>(to) + done, bytes - done, at + done);
    if (got < 0) refuse(path, format("cannot be read: {}", why_not_read(path, errno)));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void check_header(const IndexHeader& header, const std::string& path) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) refuse(path, "is no index of a stream log");
  if (header.version != kVersion)
    throw Error(DC_E_VERSION, format("{} has version {}, this Damaris reads {}; use the same", path, header.version, kVersion));
  constexpr std::uint32_t kMostFiles = 1u << 16;
  if (header.seal != seal_of(header) || header.files == 0 || header.files > kMostFiles)
    refuse(path, "is damaged: its header does not match its checksum");
}

void take_entry(Index& index, const IndexEntry& entry, std::uint64_t end, std::size_t& broken) {
  const std::size_t number = (end - sizeof(IndexHeader)) / sizeof entry - 1;
  const bool is_append = entry.kind == EntryKind::append;
  const bool known = is_append || entry.kind == EntryKind::begin || entry.kind == EntryKind::end;
  const bool whole =
      entry.seal == seal_of(entry) && entry.serial == static_cast<std::uint32_t>(number) && known &&
      (!is_append || (entry.file < index.header.files && entry.bytes > 0 && entry.offset + entry.bytes > entry.offset));
  if (!whole) {
    ++broken;
    return;
  }
  index.entries.push_back(entry);
  index.whole_bytes = end;
  index.damaged = broken;
}

std::string text_of(const char* text, std::size_t size) { return {text, ::strnlen(text, size)}; }

}  // namespace

std::string Index::log() const { return text_of(header.log, sizeof header.log); }
std::string Index::host() const { return text_of(header.host, sizeof header.host); }

bool Index::has_appends() const {
  return std::any_of(entries.begin(), entries.end(), [](const IndexEntry& entry) { return entry.kind == EntryKind::append; });
}

std::optional<std::uint64_t> Index::run() const {
  const auto last = std::find_if(entries.rbegin(), entries.rend(), [](const IndexEntry& e) { return e.kind == EntryKind::begin; });
  return last == entries.rend() ? std::nullopt : std::optional(last->offset);
}

std::optional<Index> read_index(const std::string& path) {
  const StoredFileReader file(path);
  if (!file.is_open()) refuse(path, format("cannot be read: {}", why_not_read(path, errno)));
  Index index;
  if (read_some(file, path, &index.header, sizeof index.header, 0) < sizeof index.header) return std::nullopt;
  check_header(index.header, path);
  index.whole_bytes = sizeof index.header;
  std::uint64_t at = index.whole_bytes;
  std::size_t broken = 0;
  for (std::vector<IndexEntry> some(kEntriesAtOnce);;) {
    const std::size_t got = read_some(file, path, some.data(), some.size() * sizeof(IndexEntry), at);
    for (std::size_t i = 0; i < got / sizeof(IndexEntry); ++i)
      take_entry(index, some[i], at + (i + 1) * sizeof(IndexEntry), broken);
    at += got;
    if (got < some.size() * sizeof(IndexEntry)) break;
  }
  index.torn_bytes = at - index.whole_bytes;
  return index;
}

}  // namespace damaris::logs
