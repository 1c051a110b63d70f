#include "server/spill.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"
#include "core/shm/block.hpp"
#include "core/shm/dead_regions.hpp"

namespace damaris::server {
namespace {

constexpr std::uint64_t kBite = 4 << 20;

// The client took none, so it is made while the data are copied.
bool needs_checksum(const dc_dataset_t& dataset) { return dataset.has_checksum == 0; }

// Returns false with errno set.
bool write_all(int descriptor, const std::byte* data, std::uint64_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor, data, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    bytes -= static_cast<std::uint64_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
  return true;
}

bool write_state(int descriptor, std::uint64_t record, shm::BlockState state) {
  const auto value = static_cast<std::uint32_t>(state);
  return write_all(descriptor, reinterpret_cast<const std::byte*>(&value), sizeof value,
                   record + offsetof(shm::BlockHeader, state));
}

std::uint64_t record_bytes(std::uint64_t data_bytes) { return shm::round_up(shm::kLongestHeader + data_bytes, shm::kPage); }

void fill(shm::BlockHeader& header, const dc_dataset_t& dataset) {
  header.magic = shm::kBlockMagic;
  header.state.store(static_cast<std::uint32_t>(shm::BlockState::reserved), std::memory_order_relaxed);
  header.size_bytes.store(record_bytes(dataset.bytes), std::memory_order_relaxed);
  header.data_bytes = dataset.bytes;
  header.step = dataset.step;
  header.variable = dataset.variable->id;
  header.source = dataset.source;
  header.block = dataset.block;
  header.ndims = static_cast<std::uint8_t>(dataset.variable->ndims);
  header.flags = shm::kHasGhost;
  if (dataset.variable->has_global != 0) header.flags |= shm::kHasGlobal;
  if (dataset.has_position != 0) header.flags |= shm::kHasPosition;
  header.flags |= shm::kHasChecksum;  // detects corruption on the disk
  header.checksum = dataset.has_checksum != 0 ? dataset.checksum : 0;
  const shm::Form form{header.ndims, header.flags};
  const shm::Lists lists(header, form);
  for (int d = 0; d < form.ndims; ++d) {
    lists.extents()[d] = dataset.extents[d];
    if (form.has(shm::kHasPosition)) lists.position()[d] = dataset.position[d];
    if (form.has(shm::kHasGlobal)) lists.global()[d] = dataset.global[d];
    lists.ghost_low()[d] = static_cast<std::uint32_t>(dataset.ghost_low[d]);
    lists.ghost_high()[d] = static_cast<std::uint32_t>(dataset.ghost_high[d]);
  }
}

}  // namespace

std::string Spill::path_for(const std::string& folder, const std::string& region) {
  // Every user can see the region's name and could create a file of that name in a shared folder: so add a random number.
  const std::string name =
      format("{}.{:016x}.spill", region.empty() ? format("/damaris.{}", ::getpid()) : region, shm::make_nonce());
  const std::string path = std::filesystem::absolute(folder).string() + name;
  if (path.size() >= sizeof(shm::RegionHeader::spill))
    throw Error(DC_E_CONFIG, format("spill=\"{}\": the path of its file would have {} bytes, the most are {}; choose a shorter one",
                                    folder, path.size(), sizeof(shm::RegionHeader::spill) - 1));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw system_error(DC_E_NO_OUTPUT, format("spill=\"{}\" is no folder that can be written", folder), errno,
                       "make it on every node, or choose another");
  return path;
}

Spill::Spill(const shm::Region& region, std::uint64_t most_bytes)
    : header_(region.header()), path_(region.spill_file()), most_bytes_(most_bytes) {}

void Spill::end() noexcept {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (!(keep_file_ && holds_something()) && creator_.is_this_process()) ::unlink(path_.c_str());
}

bool Spill::open(int flags) {
  descriptor_ = open_own(path_, O_RDWR | flags, 0600);
  return descriptor_ >= 0;
}

bool Spill::fail(const std::string& what) {
  if (!failed_) log_line(LogLevel::warning, format("{} of {}: nothing more is spilled until there is room", what, path_));
  failed_ = true;
  return false;
}

SpilledBlock Spill::map(std::uint64_t offset, std::uint64_t bytes) const {
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
  return {offset, bytes, memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory)};
}

// Before anything is written there: with a full disk, reading the mapping would otherwise raise SIGBUS.
bool Spill::allocate(std::uint64_t begin, std::uint64_t end) {
  const int refused = ::posix_fallocate(descriptor_, static_cast<off_t>(end_ + begin), static_cast<off_t>(end - begin));
  errno = refused;
  return refused == 0;
}

bool Spill::begin_copy(const dc_dataset_t& dataset) {
  if (bytes_ + record_bytes(dataset.bytes) > most_bytes_) return fail(format("spill-size ({}) is reached", size_text(most_bytes_)));
  if (descriptor_ < 0 && !open(O_CREAT | O_EXCL)) return fail(format("cannot make the file ({})", std::strerror(errno)));
  shm::LongHeader header;
  fill(header.get(), dataset);
  checksum_ = header.get().checksum;
  copied_ = sizeof header;  // if this fails, what was allocated in part goes, too
  if (!allocate(0, std::min(record_bytes(dataset.bytes), kBite)) || !write_all(descriptor_, header.bytes, sizeof header, end_))
    return fail(format("cannot write ({})", std::strerror(errno)));
  return true;
}

bool Spill::copy_bite(const dc_dataset_t& dataset) {
  const std::uint64_t done = copied_ - shm::kLongestHeader;
  const std::uint64_t end = std::min(record_bytes(dataset.bytes), (copied_ / kBite + 1) * kBite);
  const std::uint64_t bytes = std::min(dataset.bytes - done, end - copied_);
  const std::byte* const data = static_cast<const std::byte*>(dataset.data) + done;
  const bool is_allocated = copied_ % kBite != 0 || allocate(copied_, end);
  if (!is_allocated || !write_all(descriptor_, data, bytes, end_ + copied_))
    return fail(format("cannot write ({})", std::strerror(errno)));
  if (needs_checksum(dataset)) checksum_ = codec::crc32(data, bytes, checksum_);
  copied_ += bytes;
  return true;
}

bool Spill::end_copy(const dc_dataset_t& dataset, SpilledBlock& place) {
  const std::uint64_t bytes = record_bytes(dataset.bytes), checksum_at = end_ + offsetof(shm::BlockHeader, checksum);
  const auto* const checksum = reinterpret_cast<const std::byte*>(&checksum_);
  if (needs_checksum(dataset) && !write_all(descriptor_, checksum, sizeof checksum_, checksum_at))
    return fail(format("cannot write ({})", std::strerror(errno)));
  place = map(end_, bytes);
  place.checksum = checksum_;
  if (place.record == nullptr || !write_state(descriptor_, end_, shm::BlockState::published))
    return fail(format("cannot map ({})", std::strerror(errno)));
  end_ += bytes;
  bytes_ += bytes;
  failed_ = false;
  ++records_;
  header_.spilled_blocks.fetch_add(1, std::memory_order_relaxed);
  header_.spilled_bytes.fetch_add(dataset.bytes, std::memory_order_relaxed);
  return true;
}

Spill::Copied Spill::copy(const dc_dataset_t& dataset, SpilledBlock& place) {
  bool goes_on = copied_ > 0 || begin_copy(dataset);
  goes_on = goes_on && copy_bite(dataset);
  if (goes_on && copied_ < shm::kLongestHeader + dataset.bytes) return Copied::unfinished;
  if (goes_on && end_copy(dataset, place)) {
    copied_ = 0;
    return Copied::whole;
  }
  cancel_copy();
  return Copied::no_room;
}

// Its bytes as well: a recovery must not take them for records.
void Spill::cancel_copy() noexcept {
  if (std::exchange(copied_, 0) > 0 && ::ftruncate(descriptor_, static_cast<off_t>(end_)) != 0)
    log_line(LogLevel::warning, format("cannot shorten {}: {}", path_, std::strerror(errno)));
}

void Spill::forget(const SpilledBlock& block) noexcept {
  ::munmap(block.record, block.bytes);
  bytes_ -= block.bytes;
  --records_;
}

void Spill::release(const SpilledBlock& block) {
  forget(block);
  header_.spilled_blocks.fetch_sub(1, std::memory_order_relaxed);
  if (reset_if_empty()) return;
  // On a file system without hole punching, mark the record as released.
  if (::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(block.offset),
                  static_cast<off_t>(block.bytes)) != 0 &&
      !write_state(descriptor_, block.offset, shm::BlockState::released))
    log_line(LogLevel::error, format("cannot release a block of {}: {}", path_, std::strerror(errno)));
}

// Truncates instead of removing the file, whose name is already recorded in the region.
bool Spill::reset_if_empty() {
  if (descriptor_ < 0 || records_ > 0 || missing_ > 0 || ::ftruncate(descriptor_, 0) != 0) return false;
  end_ = 0;
  return true;
}

// The header's count stays unchanged during the walk: a process that reads the region concurrently, or after a kill, must not find it
// empty.
void Spill::adopt(const Visit& visit) {
  const std::uint64_t expected = header_.spilled_blocks.load(std::memory_order_relaxed);
  std::vector<SpilledBlock> obsolete;
  const std::uint64_t damaged = walk(visit, obsolete);
  // A server killed while writing or releasing a record may leave one more than it had counted.
  missing_ = std::max(damaged, expected > records_ ? expected - records_ : 0);
  header_.spilled_blocks.store(records_ + missing_, std::memory_order_relaxed);
  for (const SpilledBlock& block : obsolete) release(block);
  reset_if_empty();
}

void Spill::forget_missing() {
  header_.spilled_blocks.fetch_sub(missing_, std::memory_order_relaxed);
  missing_ = 0;
  reset_if_empty();
}

// Returns the number of damaged records.
std::uint64_t Spill::walk(const Visit& visit, std::vector<SpilledBlock>& obsolete) {
  if (path_.empty()) return 0;
  if (!open(0)) {
    if (errno != ENOENT && errno != ENOTDIR) refusal_ = why_not_own(path_, errno);
    return 0;
  }
  struct stat facts = {};
  const int error = ::fstat(descriptor_, &facts) != 0 ? errno : facts.st_uid != ::geteuid() ? EPERM : 0;
  if (error != 0) {
    refusal_ = why_not_own(path_, error);
    return 0;
  }
  std::uint64_t damaged = 0;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  while (size - end_ >= shm::kPage) {
    const off_t next = ::lseek(descriptor_, static_cast<off_t>(end_), SEEK_DATA);
    if (next < 0) break;
    const std::uint64_t offset = std::max(end_, static_cast<std::uint64_t>(next) / shm::kPage * shm::kPage);
    shm::LongHeader copy;
    if (::pread(descriptor_, copy.bytes, sizeof copy, static_cast<off_t>(offset)) != static_cast<ssize_t>(sizeof copy)) break;
    const shm::BlockHeader& header = copy.get();
    const bool sound =
        header.magic == shm::kBlockMagic && header.data_bytes <= size - offset && record_bytes(header.data_bytes) <= size - offset;
    const std::uint64_t bytes = sound ? record_bytes(header.data_bytes) : shm::kPage;
    end_ = offset + bytes;
    if (!sound || shm::state_of(header) != shm::BlockState::published) continue;
    const SpilledBlock block = map(offset, bytes);
    if (block.record == nullptr) continue;
    ++records_;
    bytes_ += bytes;
    const Verdict verdict = visit(header, block);
    if (verdict == Verdict::obsolete) obsolete.push_back(block);
    if (verdict != Verdict::damaged) continue;
    forget(block);
    ++damaged;
  }
  return damaged;
}

}  // namespace damaris::server
