#include "shard_reader.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "encoded_files.hpp"
#include "shard_bytes.hpp"

namespace damaris::manifest {
namespace {

constexpr std::uint64_t kMaxFrameBytes = std::uint64_t{4} << 30;  // of a step: 100 times that of 10 000 servers with 100 variables
constexpr std::size_t kMostKnownDatasets = 200'000;               // about 100 MB of facts

std::string at_text(std::uint64_t at) { return " at byte " + std::to_string(at); }

template <class T>
T taken(std::string_view& bytes) {
  T header = {};
  if (bytes.size() < sizeof header) throw Error(DC_E_IO, "its description is damaged: it is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  return header;
}

// Takes each server's part of a step from its bytes.
template <class Take>
void for_each_part(std::string_view content, Take&& take) {
  while (!content.empty()) {
    const PartHeader header = taken<PartHeader>(content);
    if (header.bytes > content.size()) throw Error(DC_E_IO, "its description is damaged: a part is too long");
    take(header.facts_at, content.substr(0, header.bytes));
    content.remove_prefix(header.bytes);
  }
}

void keep_only(std::vector<FileEntry>& files, const std::string& variable) {
  if (variable.empty()) return;
  const auto is_other = [&](const DatasetEntry& dataset) { return dataset.variable != variable; };
  for (FileEntry& file : files)
    file.datasets.erase(std::remove_if(file.datasets.begin(), file.datasets.end(), is_other), file.datasets.end());
}

}  // namespace

const StoredFileReader& ShardReader::open(const std::string& name) {
  if (file_ != nullptr && name_ == name) return *file_;
  const std::string path = folder_ + "/" + name;
  file_ = std::make_unique<StoredFileReader>(path);
  name_ = name;
  struct stat facts = {};
  const bool is_open = file_->is_open() && ::fstat(file_->descriptor(), &facts) == 0;
  const int error = errno;
  char magic[kMagicBytes] = {};
  const bool is_shard = is_open && file_->read(magic, sizeof magic, 0) == static_cast<std::ptrdiff_t>(sizeof magic) &&
                        std::memcmp(magic, kShardMagic, sizeof magic) == 0;
  if (!is_shard) {
    file_.reset();
    const std::string what = path + ", a shard of the manifest, ";
    if (!is_open && error == ENOENT) throw Error(DC_E_IO, what + "is missing; restore it: it describes files of the run");
    if (!is_open) throw Failure(what + "cannot be read: " + why_not_read(path, error), error);
    throw Error(DC_E_IO, what + "does not begin as one; restore it: it describes files of the run");
  }
  return *file_;
}

std::string ShardReader::bytes_at(const std::string& name, std::uint64_t at, std::uint64_t bytes) {
  const StoredFileReader& file = open(name);
  struct stat facts = {};
  const std::string path = folder_ + "/" + name;
  if (::fstat(file.descriptor(), &facts) != 0) throw_system_failure(errno, "stat", path);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  const auto cut_off = [&] {
    return Error(DC_E_IO, path + ", a shard of the manifest, is cut off: it has " + std::to_string(size) +
                              " bytes, and is to have " + std::to_string(bytes) + at_text(at) + "; restore it from a copy");
  };
  if (at > size || bytes > size - at) throw cut_off();
  if (bytes > kMaxFrameBytes)
    throw Error(DC_E_IO, path + ", a shard of the manifest, has" + at_text(at) + " more than 4 GiB for one step, so it is damaged");
  std::string content;
  try {
    content.resize(bytes);
  } catch (const std::bad_alloc&) {
    throw_system_failure(ENOMEM, "read", path);
  }
  for (std::uint64_t done = 0; done < bytes;) {
    const std::ptrdiff_t got = file.read(&content[done], bytes - done, at + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_failure(errno, "read", path);
    if (got == 0) throw cut_off();
    done += static_cast<std::uint64_t>(got);
  }
  return content;
}

std::string ShardReader::step_at(const Described& described) {
  std::string content = bytes_at(described.in, described.at, described.bytes);
  if (codec::crc32(content.data(), content.size()) == described.checksum) return content;
  throw Error(DC_E_IO, folder_ + "/" + described.in + ", a shard of the manifest, is damaged" + at_text(described.at) +
                           ", or of another run: its checksum does not match; restore it from a copy");
}

ShardReader::Facts ShardReader::facts_at(const std::string& name, std::uint64_t at) {
  const auto found = facts_.find({name, at});
  if (found != facts_.end()) return found->second;
  const std::string header_bytes = bytes_at(name, at, sizeof(FrameHeader));
  std::string_view rest = header_bytes;
  const auto header = taken<FrameHeader>(rest);
  const bool is_frame = std::memcmp(header.kind, kFactsFrame, sizeof header.kind) == 0;
  const std::string content = is_frame ? bytes_at(name, at + sizeof header, header.bytes) : "";
  if (!is_frame || codec::crc32(content.data(), content.size()) != header.checksum)
    throw Error(DC_E_IO, folder_ + "/" + name + ", a shard of the manifest, is damaged" + at_text(at) + "; restore it from a copy");
  const auto facts = std::make_shared<const std::vector<FileEntry>>(files_from_facts(content));
  std::size_t datasets = 0;
  for (const FileEntry& file : *facts) datasets += file.datasets.size();
  if (known_datasets_ + datasets > kMostKnownDatasets) {
    facts_.clear();
    known_datasets_ = 0;
  }
  known_datasets_ += datasets;
  facts_.emplace(std::pair(name, at), facts);
  return facts;
}

std::vector<FileEntry> ShardReader::files_of(const std::vector<Described>& described, const std::string& variable) {
  std::vector<FileEntry> files;
  for (const Described& one : described) {
    std::vector<FileEntry> parts;
    const std::string content = step_at(one);
    for_each_part(content, [&](std::uint64_t at, std::string_view values) {
      std::vector<FileEntry> part = with_values(*facts_at(one.in, at), values, variable);
      std::move(part.begin(), part.end(), std::back_inserter(parts));
    });
    add_files(files, std::move(parts), LineOrigin::another_server);
  }
  return files;
}

// A descriptor may be all that the caller has left, and the file may be another one the next time.
struct ShardReader::Closing {
  explicit Closing(ShardReader& of) : reader(of) {}
  ~Closing() { reader.file_.reset(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ShardReader& reader;
};

StepEntry ShardReader::complete(StepEntry step, const std::string& variable) {
  const Closing closing(*this);
  const std::vector<Described> described = std::exchange(step.described, {});
  keep_only(step.files, variable);
  add_files(step.files, files_of(described, variable), LineOrigin::another_server);
  for (FilesOfLine& line : std::exchange(step.later, {})) {
    keep_only(line.files, variable);
    add_files(line.files, files_of(line.described, variable), LineOrigin::another_server);
    add_files(step.files, std::move(line.files), line.origin);
  }
  step.total = {};
  if (variable.empty()) return step;
  const auto is_empty = [](const FileEntry& file) { return file.datasets.empty(); };
  step.files.erase(std::remove_if(step.files.begin(), step.files.end(), is_empty), step.files.end());
  return step;
}

std::vector<std::string> ShardReader::names_of(const StepEntry& step) {
  const Closing closing(*this);
  std::vector<std::string> names;
  const auto take = [&](const std::vector<FileEntry>& files, const std::vector<Described>& described) {
    for (const FileEntry& file : files) names.push_back(file.name);
    for (const Described& one : described) {
      const std::string content = step_at(one);
      for_each_part(content, [&](std::uint64_t, std::string_view values) {
        for (std::string& name : names_in(values)) names.push_back(std::move(name));
      });
    }
  };
  take(step.files, step.described);
  for (const FilesOfLine& line : step.later) take(line.files, line.described);
  return names;
}

}  // namespace damaris::manifest
