#include "logs/reader.hpp"

#include <damaris/damaris.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"

namespace damaris::logs {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string place_of(const std::string& path, const IndexEntry& entry) {
  return format("{}: {} bytes of stream {} at {}", path, entry.bytes, entry.stream, entry.offset);
}

// Reads a piece of a stream into `bytes`. Throws Error(DC_E_IO) unless it is as its entry says.
void read_piece(const StoredFileReader& file, const std::string& path, const IndexEntry& entry, std::string& bytes) {
  if (!file.is_open()) throw Error(DC_E_IO, format("{} cannot be read: {}", path, why_not_read(path, errno)));
  constexpr std::uint64_t kAtOnce = 1 << 20;  // an entry of a damaged index may claim more than there is memory for
  bytes.clear();
  while (bytes.size() < entry.bytes) {
    const std::size_t done = bytes.size();
    bytes.resize(done + std::min<std::uint64_t>(kAtOnce, entry.bytes - done));
    const std::ptrdiff_t got = file.read(bytes.data() + done, bytes.size() - done, entry.offset + done);
    if (got < 0) throw Error(DC_E_IO, format("{} cannot be read: {}", path, why_not_read(path, errno)));
    if (got == 0) throw Error(DC_E_IO, format("{} are missing: the file ends before", place_of(path, entry)));
    bytes.resize(done + static_cast<std::size_t>(got));
  }
  if (codec::crc32(bytes.data(), bytes.size()) != entry.checksum)
    throw Error(DC_E_IO, format("{} are damaged: they do not match their checksum", place_of(path, entry)));
}

}  // namespace

std::vector<std::string> Reader::indexes_of(const std::string& run) {
  std::error_code unknown;
  const bool is_folder = fs::is_directory(run, unknown);
  std::string base = run;
  if (ends_with(base, ".jsonl")) base.resize(base.size() - std::string(".jsonl").size());
  const fs::path folder = is_folder                          ? fs::path(run)
                          : fs::path(base).has_parent_path() ? fs::path(base).parent_path()
                                                             : fs::path(".");
  const std::string start = is_folder ? "" : fs::path(base).filename().string() + ".";
  std::vector<std::string> found;
  for (fs::directory_iterator next(folder, unknown), end; !unknown && next != end; next.increment(unknown)) {
    const std::string name = next->path().filename().string();
    if (ends_with(name, kIndexSuffix) && name.compare(0, start.size(), start) == 0) found.push_back((folder / name).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Reader> Reader::find(const std::string& run, const std::string& log) {
  std::vector<Reader> found;
  std::vector<std::string> others;
  for (const std::string& path : indexes_of(run)) {
    Reader reader(path);
    if (log.empty() || reader.index().log() == log)
      found.push_back(std::move(reader));
    else
      others.push_back(reader.index().log());
  }
  if (!found.empty()) return found;
  if (others.empty())
    throw Error(DC_E_ARGUMENT, format("'{}' has no stream log: there is no {}.*{}; give the basename of <hdf5>, such as out/storm",
                                      run, run, kIndexSuffix));
  throw Error(DC_E_ARGUMENT, format("'{}' has no stream log '{}'; there is '{}'", run, log, others.front()));
}

Reader::Reader(const std::string& index_path)
    : path_(index_path), names_{index_path.substr(0, index_path.size() - std::string(kIndexSuffix).size())} {
  if (auto index = read_index(index_path)) index_ = std::move(*index);
  covered_.resize(index_.header.files);
  for (const IndexEntry& entry : index_.entries) {
    if (entry.kind != EntryKind::append) continue;
    covered_[entry.file].add({entry.offset, entry.bytes});
    Stream& stream = streams_[entry.stream];
    stream.file = entry.file;
    stream.bytes += entry.bytes;
    stream.pieces.push_back(entry);
  }
  const auto before = [](const IndexEntry& a, const IndexEntry& b) { return a.offset < b.offset; };
  for (auto& [number, stream] : streams_) std::stable_sort(stream.pieces.begin(), stream.pieces.end(), before);
}

std::vector<Hole> Reader::holes() const {
  std::vector<Hole> found;
  for (std::uint32_t file = 0; file < covered_.size(); ++file)
    for (const Extent& hole : covered_[file].holes()) found.push_back({names_.data(file), hole});
  return found;
}

void Reader::read(std::int64_t stream, const Take& take) const {
  const Stream& wanted = streams_.at(stream);
  const std::string path = names_.data(wanted.file);
  const StoredFileReader file(path);
  std::string bytes;
  for (const IndexEntry& piece : wanted.pieces) {
    read_piece(file, path, piece, bytes);
    take(bytes);
  }
}

std::vector<std::string> Reader::damages() const {
  std::vector<std::string> found;
  if (index_.damaged > 0)
    found.push_back(format("{}: {} entries do not match their checksums; what they say of is lost", path_, index_.damaged));
  std::string bytes;
  for (const auto& [number, stream] : streams_) {
    const std::string path = names_.data(stream.file);
    const StoredFileReader file(path);
    for (const IndexEntry& piece : stream.pieces) try {
        read_piece(file, path, piece, bytes);
      } catch (const Error& error) {
        found.push_back(error.sentence());
        if (!file.is_open()) break;
      }
  }
  return found;
}

}  // namespace damaris::logs
