// Named memory in /dev/shm that several processes map, or private memory for a server in place. Boost.Interprocess creates, opens, sizes
// and maps it; this class verifies the identity of the file, allocates its pages and holds its locks (ADR 1).
// Used by: Region, on both sides, at start-up and end only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/base/own_file.hpp"
#include "core/base/process.hpp"

struct stat;
namespace boost::interprocess {
class mapped_region;
}

namespace damaris::shm {

// Whose death the kernel tells by the lock on which part: the server, each client (kClientParts + slot), a process that recovers or removes
// the region of a dead server.
inline constexpr std::uint64_t kServerPart = 0, kClientParts = 1, kTakeoverPart = std::uint64_t{1} << 32;

class SharedMemory {
 public:
  // Creates the object `name` ("/damaris...."), mode 0600, `bytes` long, of which the first `allocated_bytes` are allocated now.
  // Throws Error(DC_E_SHM) if /dev/shm has fewer than `bytes` free (the message gives both figures) or the name exists.
  // Owns: the name; the destructor unlinks it in the process that created it, unless disown_name() was called.
  static SharedMemory create(const std::string& name, std::uint64_t bytes, std::uint64_t allocated_bytes);
  // Maps an existing object. Throws Error(DC_E_SHM) if it is missing, another user's, or smaller than `least_bytes`.
  static SharedMemory open(const std::string& name, std::uint64_t least_bytes);
  // Private memory of this process, without a name.
  static SharedMemory make_private(std::uint64_t bytes);
  // Unlinks the name of an object; existing mappings stay valid.
  static void remove(const std::string& name) noexcept;
  // Borrows the caller's memory, which must outlive this object: for a copy of a region.
  static SharedMemory view(std::byte* data, std::uint64_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  // Allocates and touches [offset, offset+bytes) from the calling thread, so that the pages are on its NUMA node and no later write faults.
  // Throws Error(DC_E_SHM) instead of a SIGBUS later, after freeing the pages already allocated unless the range is `in_use`.
  void allocate(std::uint64_t offset, std::uint64_t bytes, bool in_use = false);
  // Maps the pages of a range that another process has allocated, so that the first read does not fault. Best effort.
  void populate(std::uint64_t offset, std::uint64_t bytes) noexcept;

  // Length of the part of [offset, offset+bytes), from its start, whose pages exist. Reading beyond it would allocate a page, which raises
  // SIGBUS when /dev/shm is full. Does not read the memory. Not for a file that another process shortens at this moment.
  std::uint64_t backed_bytes(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  bool is_backed(std::uint64_t offset, std::uint64_t bytes) const noexcept { return backed_bytes(offset, bytes) == bytes; }

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size_bytes() const noexcept { return bytes_; }
  const std::string& name() const noexcept { return name_; }  // "" if private or borrowed
  // Unlinks the name now (the mapping stays valid), or leaves it for recovery.
  void unlink_name() noexcept;
  void disown_name() noexcept { owns_name_ = false; }
  // Locks on parts, held until this object or its process ends: the kernel releases them, and they are visible across PID namespaces. The
  // creator holds kServerPart. try_lock returns false while any process holds the part; throws Error(DC_E_SHM) if it cannot be locked.
  bool try_lock(std::uint64_t part);
  void unlock(std::uint64_t part) noexcept;
  // Whether any process holds it, this one as well. Always true for memory without a name, of which no other process could die.
  bool is_held(std::uint64_t part) const noexcept;
  // Makes the destructor unlink the name.
  void own_name() noexcept { owns_name_ = true; }
  // False if another process has unlinked the name, or it refers to another object.
  bool has_name() const noexcept;

 private:
  SharedMemory();
  void use(std::unique_ptr<boost::interprocess::mapped_region> mapping) noexcept;
  void take_descriptor(int descriptor) noexcept;
  bool is_hole(std::uint64_t offset) const noexcept;
  void close_descriptor() noexcept;

  std::unique_ptr<boost::interprocess::mapped_region> mapping_;  // none if borrowed
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::string name_;
  int descriptor_ = -1;  // for locks and allocation
  // The kernel does not tell an open file of its own locks. Any thread.
  struct OwnParts {
    std::mutex mutex;
    std::set<std::uint64_t> parts;
  };
  std::unique_ptr<OwnParts> own_ = std::make_unique<OwnParts>();
  FileIdentity identity_;
  bool owns_name_ = false;
  CreatorProcess creator_;
};

}  // namespace damaris::shm
