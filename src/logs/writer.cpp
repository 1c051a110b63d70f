#include "logs/writer.hpp"

#include <damaris/damaris.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"

namespace damaris::logs {
namespace {

constexpr mode_t kMode = 0666;

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  throw Error(DC_E_IO, format("cannot {} {}: {}", doing, path, text_of_errno(error)));
}

void sync_file(int descriptor, const std::string& path) {
  if (::fdatasync(descriptor) != 0) fail("sync", path, errno);
}

void write_at(int descriptor, const std::string& path, const void* from, std::size_t bytes, std::uint64_t at) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t written =
        ::pwrite(descriptor, static_cast<const char*>(from) + done, bytes - done, static_cast<off_t>(at + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", path, written < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(written);
  }
}

// Writes what the vectors name, which they may lose on the way.
void write_all_at(int descriptor, const std::string& path, std::vector<iovec>& parts, std::uint64_t at) {
  for (std::size_t first = 0; first < parts.size();) {
    const int count = static_cast<int>(std::min<std::size_t>(parts.size() - first, IOV_MAX));
    ssize_t written = ::pwritev(descriptor, parts.data() + first, count, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", path, written < 0 ? errno : ENOSPC);
    at += static_cast<std::uint64_t>(written);
    for (; first < parts.size() && static_cast<std::size_t>(written) >= parts[first].iov_len; ++first)
      written -= static_cast<ssize_t>(parts[first].iov_len);
    if (written == 0) continue;
    parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + written;
    parts[first].iov_len -= static_cast<std::size_t>(written);
  }
  parts.clear();
}

std::string start_of_names(const LogSettings& s) {
  return format("{}.{}.s{}.{}", absolute_path(s.basename), s.host, s.server, s.name);
}

void cut(int descriptor, const std::string& path, std::uint64_t bytes) {
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) fail("cut", path, errno);
}

IndexEntry entry_of(const Append& append) {
  IndexEntry entry = {};
  entry.kind = EntryKind::append;
  entry.file = append.file;
  entry.stream = append.stream;
  entry.offset = append.place.offset;
  entry.bytes = append.place.bytes;
  entry.checksum = codec::crc32(append.data, append.place.bytes);
  return entry;
}

// One entry for appends of a stream that follow each other in the file.
std::vector<IndexEntry> entries_of(const std::vector<const Append*>& appends) {
  std::vector<IndexEntry> entries;
  for (const Append* append : appends) {
    IndexEntry* const last = entries.empty() ? nullptr : &entries.back();
    const bool continues = last != nullptr && last->file == append->file && last->stream == append->stream &&
                           last->offset + last->bytes == append->place.offset;
    if (!continues) {
      entries.push_back(entry_of(*append));
      continue;
    }
    last->checksum = codec::crc32(append->data, append->place.bytes, last->checksum);
    last->bytes += append->place.bytes;
  }
  return entries;
}

}  // namespace

Writer::Writer(const LogSettings& settings)
    : settings_(settings),
      names_{start_of_names(settings)},
      data_(static_cast<std::size_t>(settings.files), -1),
      covered_(static_cast<std::size_t>(settings.files)) {
  try {
    open();
    take_over();
  } catch (const Error& error) {
    if (settings_.existing == Existing::recover) {
      block_reason_.emplace(error);
      return;
    }
    if (index_ >= 0) ::close(index_);
    throw;
  }
}

void Writer::open() {
  index_ = open_own(names_.index(), O_RDWR | O_CREAT, kMode);
  if (index_ < 0)
    throw Error(DC_E_NO_OUTPUT, format("log '{}' cannot be kept in {}: {}", settings_.name, names_.index(),
                                       why_not_own(names_.index(), errno, "choose another basename")));
}

Writer::~Writer() {
  if (index_ >= 0) ::close(index_);
  for (const int descriptor : data_)
    if (descriptor >= 0) ::close(descriptor);
}

// A recovery may find the log of the run before: then the server that was killed had stored nothing in it.
bool Writer::replaces_predecessor(const Index& found) const {
  if (settings_.existing != Existing::recover || !found.run() || found.run() == settings_.run) return false;
  if (settings_.before.kind == Before::Kind::none || found.run() != settings_.before.run)
    throw Error(DC_E_NO_OUTPUT,
                format("{} is a log of another run, and is not written to; move it and its .stream files away, or give recover "
                       "another --basename",
                       names_.index()));
  return settings_.before.kind == Before::Kind::replaced;
}

void Writer::require_same(const Index& found) const {
  const std::string path = names_.index();
  if (found.header.files != static_cast<std::uint32_t>(settings_.files))
    throw Error(DC_E_NO_OUTPUT,
                format("{} has {} files, and files=\"{}\" of <stream-log> says otherwise; say files=\"{}\", or choose "
                       "another basename",
                       path, found.header.files, settings_.files, found.header.files));
}

// What an earlier server has left decides how this one begins.
void Writer::take_over() {
  const auto found = read_index(names_.index());
  if (!found) return;
  old_files_ = found->header.files;
  const bool goes_on = settings_.existing == Existing::append || settings_.existing == Existing::recover;
  const bool matters = found->has_appends();
  before_ = {goes_on ? Before::Kind::continued : Before::Kind::replaced, found->run().value_or(0)};
  if (!goes_on) {
    if (matters && settings_.existing == Existing::refuse)
      throw Error(DC_E_NO_OUTPUT,
                  format("{} is the log of an earlier run, and exists=\"refuse\"; move it and its .stream files away, "
                         "or choose another basename",
                         names_.index()));
    if (matters && settings_.existing == Existing::automatic && !found->ended())
      throw Error(DC_E_NO_OUTPUT,
                  format("{} is the log of a run that did not come to its end; recover that run ('damaris recover'), or say "
                         "exists=\"append\" or \"overwrite\" in <hdf5>, or move it and its .stream files away",
                         names_.index()));
  }
  replaces_ = !goes_on || replaces_predecessor(*found);
  if (replaces_) return;
  require_same(*found);
  if (found->damaged > 0)
    throw Error(DC_E_NO_OUTPUT,
                format("{} is damaged: {} of its entries do not match their checksums; 'damaris verify' says what is "
                       "lost; move it and its .stream files away",
                       names_.index(), found->damaged));
  if (found->torn_bytes > 0) cut(index_, names_.index(), found->whole_bytes);
  index_bytes_ = found->whole_bytes;
  ended_ = found->ended();
  begun_ = settings_.existing == Existing::recover && found->run() == settings_.run;
  for (const IndexEntry& entry : found->entries) {
    if (entry.kind != EntryKind::append) continue;
    covered_[entry.file].add({entry.offset, entry.bytes});
    unsynced_.insert(entry.file);  // a server that was killed has left it to the kernel
    new_names_ = true;
  }
}

void Writer::replace() {
  cut(index_, names_.index(), 0);
  index_bytes_ = 0;
  for (std::uint32_t file = 0; file < std::max(old_files_, static_cast<std::uint32_t>(settings_.files)); ++file)
    if (::unlink(names_.data(file).c_str()) != 0 && errno != ENOENT) fail("remove", names_.data(file), errno);
  replaces_ = false;
}

// With the first append: a run that appends nothing destroys nothing.
void Writer::begin() {
  if (replaces_) replace();
  if (index_bytes_ == 0) {
    IndexHeader header = {};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.files = static_cast<std::uint32_t>(settings_.files);
    header.block_bytes = settings_.block_bytes;
    header.server = settings_.server;
    settings_.host.copy(header.host, sizeof header.host - 1);
    settings_.name.copy(header.log, sizeof header.log - 1);
    header.seal = seal_of(header);
    write_at(index_, names_.index(), &header, sizeof header, 0);
    index_bytes_ = sizeof header;
    new_names_ = true;
  }
  IndexEntry entry = {};
  entry.kind = EntryKind::begin;
  entry.offset = settings_.run;
  write_entries({entry});
  begun_ = true;
}

int Writer::data_file(std::uint32_t file) {
  int& descriptor = data_[file];
  if (descriptor >= 0) return descriptor;
  const std::string path = names_.data(file);
  descriptor = open_own(path, O_WRONLY | O_CREAT, kMode);
  if (descriptor < 0) throw Error(DC_E_IO, format("cannot open {}: {}", path, why_not_own(path, errno)));
  new_names_ = true;
  return descriptor;
}

// In the order of their places, without what is stored already or lies where something else does.
std::vector<const Append*> Writer::to_write(const std::vector<Append>& appends, std::size_t& refused) const {
  std::vector<const Append*> sorted;
  for (const Append& append : appends) {
    const Coverage::Place place = covered_[append.file].look_up(append.place);
    if (place == Coverage::Place::free)
      sorted.push_back(&append);
    else if (place == Coverage::Place::overlaps || settings_.existing != Existing::recover)
      ++refused;
  }
  std::sort(sorted.begin(), sorted.end(), [](const Append* a, const Append* b) {
    return a->file != b->file ? a->file < b->file : a->place.offset < b->place.offset;
  });
  const auto overlaps = [](const Append* before, const Append* next) {
    return next->file == before->file && next->place.offset < before->place.offset + before->place.bytes;
  };
  const auto end = std::unique(sorted.begin(), sorted.end(), overlaps);
  refused += static_cast<std::size_t>(sorted.end() - end);
  sorted.erase(end, sorted.end());
  return sorted;
}

// What follows each other in a file goes into one write, up to the next multiple of the block.
void Writer::write_data(const std::vector<const Append*>& appends) {
  std::vector<iovec> parts;
  std::uint32_t file = 0;
  std::uint64_t begin = 0, end = 0;
  const auto flush = [&] {
    if (!parts.empty()) write_all_at(data_file(file), names_.data(file), parts, begin);
  };
  for (const Append* append : appends) {
    Extent rest = append->place;
    const std::byte* data = append->data;
    while (rest.bytes > 0) {
      const bool at_block = rest.offset % settings_.block_bytes == 0;
      if (append->file != file || rest.offset != end || at_block) {
        flush();
        file = append->file;
        begin = rest.offset;
      }
      const std::uint64_t bytes = std::min(rest.bytes, settings_.block_bytes - rest.offset % settings_.block_bytes);
      parts.push_back({const_cast<std::byte*>(data), bytes});
      rest.offset += bytes;
      rest.bytes -= bytes;
      data += bytes;
      end = rest.offset;
    }
    unsynced_.insert(append->file);
  }
  flush();
}

void Writer::write_entries(std::vector<IndexEntry> entries) {
  auto serial = static_cast<std::uint32_t>((index_bytes_ - sizeof(IndexHeader)) / sizeof(IndexEntry));
  for (IndexEntry& entry : entries) {
    entry.serial = serial++;
    entry.seal = seal_of(entry);
  }
  const std::size_t bytes = entries.size() * sizeof(IndexEntry);
  if (index_is_torn_)
    cut(index_, names_.index(), index_bytes_);  // of a write that failed: whole entries, perhaps, that do not count
  index_is_torn_ = true;
  write_at(index_, names_.index(), entries.data(), bytes, index_bytes_);
  index_is_torn_ = false;
  index_bytes_ += bytes;
}

std::size_t Writer::store(const std::vector<Append>& appends) {
  if (block_reason_) throw Error(*block_reason_);
  std::size_t refused = 0;
  const std::vector<const Append*> fresh = to_write(appends, refused);
  lacks_ = lacks_ || refused > 0;
  if (fresh.empty()) return refused;
  if (!begun_) begin();
  write_data(fresh);
  write_entries(entries_of(fresh));
  ended_ = false;
  for (const Append* append : fresh) covered_[append->file].add(append->place);
  return refused;
}

void Writer::sync_folder() const {
  const std::string path = names_.index();
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open", folder, errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail("sync", folder, error);
}

void Writer::sync() {
  if (!begun_) return;
  if (!sync_error_.empty()) throw Error(DC_E_IO, sync_error_);
  try {
    sync_files();
  } catch (const Error& error) {
    sync_error_ = error.sentence() + "; what was appended since the commit before may be lost";
    throw Error(DC_E_IO, sync_error_);
  }
  if (new_names_) sync_folder();
  new_names_ = false;
}

// The bytes before their entries: an entry that survives the node's loss says the truth.
void Writer::sync_files() {
  for (auto next = unsynced_.begin(); next != unsynced_.end(); next = unsynced_.erase(next))
    sync_file(data_file(*next), names_.data(*next));
  sync_file(index_, names_.index());
}

void Writer::finish(bool complete) {
  if (block_reason_) return;
  if (!begun_) {
    struct stat facts = {};
    if (::fstat(index_, &facts) == 0 && facts.st_size == 0) ::unlink(names_.index().c_str());
    return;
  }
  sync();
  if (ended_ || !complete || lacks_) return;
  // What is torn behind the last entry, or was reserved by clients that died, is no part of the log.
  for (std::uint32_t file = 0; file < covered_.size(); ++file)
    if (covered_[file].end() > 0) cut(data_file(file), names_.data(file), covered_[file].end());
  IndexEntry entry = {};
  entry.kind = EntryKind::end;
  write_entries({entry});
  cut(index_, names_.index(), index_bytes_);
  sync_file(index_, names_.index());
  ended_ = true;
}

}  // namespace damaris::logs
