#include "replay/contents.hpp"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <random>

#include "core/base/error.hpp"

namespace damaris::replay {
namespace {

constexpr std::size_t kLeast = 1 << 20, kMost = 64 << 20;
constexpr std::size_t kFromCache =
    256 << 10;  // a program writes smaller blocks from a buffer that it has just filled, larger ones from its fields
constexpr std::uint64_t kOneCall = 0x7ffff000;  // more bytes Linux does not transfer at once

}  // namespace

// One half is written from, the other read to.
struct Contents::Memory {
  explicit Memory(std::size_t size)
      : half(size),
        bytes(static_cast<char*>(::mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (bytes == MAP_FAILED)
      throw Error(DC_E_MEMORY, "there is not enough memory for the blocks that the plan writes; replay on a machine with more");
    std::mt19937_64 random(1);
    auto* const words = reinterpret_cast<std::uint64_t*>(bytes);
    std::generate(words, words + 2 * half / sizeof(std::uint64_t), random);
  }
  ~Memory() { ::munmap(bytes, 2 * half); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const std::size_t half;
  char* const bytes;
};

Contents::Contents(std::uint64_t most, std::uint32_t number)
    : memory_(std::make_shared<Memory>(std::clamp<std::size_t>((most / kLeast + 1) * kLeast * 4, kLeast, kMost))),
      at_(number * std::size_t{4096}) {}

Contents::Contents(const Contents& other, std::uint32_t number)
    : memory_(other.memory_), at_(number * (kFromCache + std::size_t{4096})) {}

std::size_t Contents::start_of(std::uint64_t bytes) {
  if (bytes >= memory_->half) return 0;
  const std::size_t start = at_ % (memory_->half - bytes);
  if (bytes >= kFromCache) at_ += bytes;
  return start;
}

template <class Call>
int Contents::transfer(Call call, char* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t& done) {
  constexpr int kParts = 64;
  char* const start = memory + start_of(bytes);
  const std::uint64_t room = std::min<std::uint64_t>(bytes, memory_->half);
  for (done = 0; done < bytes;) {
    iovec parts[kParts];
    int count = 0;
    for (std::uint64_t left = std::min(bytes - done, kOneCall); left > 0 && count < kParts; left -= parts[count++].iov_len)
      parts[count] = {start, static_cast<std::size_t>(std::min(left, room))};
    const ssize_t got = call(parts, count, static_cast<off_t>(offset + done));
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) done += static_cast<std::uint64_t>(got);
  }
  return 0;
}

const char* Contents::block(std::uint64_t bytes) { return memory_->bytes + start_of(bytes); }

int Contents::write(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t done = 0;
  const int error = transfer([=](const iovec* parts, int count, off_t at) { return ::pwritev(descriptor, parts, count, at); },
                             memory_->bytes, offset, bytes, done);
  return error == 0 && done < bytes ? EIO : error;
}

int Contents::read(int descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t& got) {
  return transfer([=](const iovec* parts, int count, off_t at) { return ::preadv(descriptor, parts, count, at); },
                  memory_->bytes + memory_->half, offset, bytes, got);
}

}  // namespace damaris::replay
