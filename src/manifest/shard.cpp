#include "shard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "output_folder.hpp"
#include "shard_bytes.hpp"

namespace damaris::manifest {
namespace {

template <class T>
std::string bytes_of(const T& header) {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string frame(const char* kind, const std::string& content) {
  FrameHeader header = {{}, codec::crc32(content.data(), content.size()), content.size()};
  std::memcpy(header.kind, kind, sizeof header.kind);
  return bytes_of(header) + content;
}

bool is_whole_frame(const std::string& bytes) {
  FrameHeader header = {};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t content = bytes.size() - sizeof header;
  return std::memcmp(header.kind, kFactsFrame, sizeof header.kind) == 0 && header.bytes == content &&
         header.checksum == codec::crc32(bytes.data() + sizeof header, content);
}

// Returns 0, or the errno of the write that failed.
int write_at(int descriptor, const std::string& bytes, std::uint64_t at) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(written);
  }
  return 0;
}

}  // namespace

Shard::~Shard() { close(); }

void Shard::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

// On a file system whose inode numbers differ between path and descriptor, only removal can be detected.
bool Shard::is_gone() const {
  struct stat facts = {};
  if (descriptor_ < 0) return true;
  const bool is_named = ::stat(path_.c_str(), &facts) == 0;
  if (is_named ? has_name_ && !identity_.is(facts) : errno == ENOENT || errno == ENOTDIR) return true;
  if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", path_);
  return facts.st_nlink == 0 || static_cast<std::uint64_t>(facts.st_size) < end_;
}

// Other servers send their facts only when these change: the file that is gone has them. This process's own are always at hand.
std::string Shard::carried_facts(std::map<int, Facts>& known, std::uint64_t at) const {
  std::string frames;
  for (auto& [server, facts] : known) {
    std::string one(facts.bytes, '\0');
    const ssize_t got = ::pread(descriptor_, one.data(), one.size(), static_cast<off_t>(facts.at));
    if (got < 0) throw_system_failure(errno, "read again", path_);
    if (got != static_cast<ssize_t>(one.size()) || !is_whole_frame(one))
      throw Failure(path_ + ", a shard of the manifest, was overwritten, and with it what server " + std::to_string(server) +
                        " has said of its datasets: restart the run from the stored steps",
                    kNoRemedy);
    facts.at = at + frames.size();
    frames += one;
  }
  return frames;
}

// A file that is removed again unless it is adopted.
struct Shard::Fresh {
  Fresh() = default;
  ~Fresh() {
    if (descriptor < 0) return;
    ::close(descriptor);
    ::unlink(path.c_str());
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  std::string path;
  int descriptor = -1;
};

// No two files ever have one name: lines of the manifest may name one that is gone. All of it is durable, or nothing has changed.
void Shard::begin() {
  std::map<int, Facts> known = known_;
  for (auto one = known.begin(); one != known.end();) one = one->second.text.empty() ? std::next(one) : known.erase(one);
  const std::string text = kShardMagic + carried_facts(known, kMagicBytes);
  Fresh fresh;
  fresh.descriptor = make_own(start_, fresh.path, O_RDWR, 0666);
  if (fresh.descriptor < 0)
    throw Failure("cannot create the shard " + start_ + "... of the manifest: " + why_not_own(fresh.path, errno, kOtherBasename),
                  errno);
  int error = write_at(fresh.descriptor, text, 0);
  struct stat facts = {}, named = {};
  if (error == 0 && (::fdatasync(fresh.descriptor) != 0 || ::fstat(fresh.descriptor, &facts) != 0)) error = errno;
  if (error != 0) throw_system_failure(error, "begin the shard", fresh.path);
  sync_folder_of(fresh.path);
  made_.insert(fresh.path.substr(fresh.path.rfind('/') + 1));
  close();
  descriptor_ = std::exchange(fresh.descriptor, -1);
  identity_ = FileIdentity(facts);
  has_name_ = ::stat(fresh.path.c_str(), &named) == 0 && identity_.is(named);
  path_.swap(fresh.path);
  known_.swap(known);
  end_ = text.size();
}

Described Shard::append(const std::vector<ServerFiles>& step) {
  if (is_gone()) begin();
  std::map<int, Facts> more;
  std::string text, content;
  for (const ServerFiles& part : step) {
    if (part.values.empty()) continue;
    const auto found = known_.find(part.server);
    const bool is_known = found != known_.end() && (part.facts.empty() || part.facts == found->second.text);
    if (!is_known && part.facts.empty())
      throw Failure("the facts of server " + std::to_string(part.server) + " are missing in the shard " + path_, kNoRemedy);
    if (!is_known) {
      const std::string facts = frame(kFactsFrame, part.facts);
      more[part.server] = {end_ + text.size(), facts.size(), part.is_own ? part.facts : ""};
      text += facts;
    }
    content += bytes_of(PartHeader{is_known ? found->second.at : more[part.server].at, part.values.size()}) + part.values;
  }
  Described described;
  described.in = path_.substr(path_.rfind('/') + 1);
  described.at = end_ + text.size() + sizeof(FrameHeader);
  described.bytes = content.size();
  described.checksum = codec::crc32(content.data(), content.size());
  text += frame(kStepFrame, content);
  write(text);
  for (auto& [server, facts] : more) known_[server] = std::move(facts);
  return described;
}

// What a write left that failed is overwritten by the next one.
void Shard::write(const std::string& text) {
  int error = write_at(descriptor_, text, end_);
  if (error == 0 && ::fdatasync(descriptor_) != 0) error = errno;
  if (error != 0) throw_system_failure(error, "write to", path_);
  end_ += text.size();
}

}  // namespace damaris::manifest
