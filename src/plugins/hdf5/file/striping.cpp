#include "striping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>

namespace damaris::hdf5 {
namespace {

// The interface of Lustre's kernel module, whose header is not installed everywhere; it is the same in all versions.
constexpr long kLustre = 0x0BD00BD0;
constexpr int kDelayCreate = 0100000000 | O_NOCTTY | FASYNC;
constexpr std::uint32_t kLayoutV1 = 0x0BD10BD0;
constexpr std::uint16_t kAnyTarget = 0xffff;

struct __attribute__((packed)) StripeRequest {
  std::uint32_t magic = kLayoutV1;
  std::uint32_t pattern = 0;  // that of the file system, RAID 0
  std::uint64_t object[2] = {};
  std::uint32_t size_bytes = 0;
  std::uint16_t count = 0;
  std::uint16_t first_target = kAnyTarget;
};
static_assert(sizeof(StripeRequest) == 32);

constexpr unsigned long kSetStripe = _IOW('f', 154, long);

}  // namespace

bool is_on_lustre(const std::string& folder) {
  struct statfs facts = {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == kLustre;
}

int open_flags_for(const Striping& striping, const std::string& folder) {
  return striping.is_asked() && is_on_lustre(folder) ? kDelayCreate : 0;
}

int stripe(int descriptor, const Striping& striping) {
  StripeRequest request;
  request.size_bytes = static_cast<std::uint32_t>(striping.size_bytes);
  request.count = static_cast<std::uint16_t>(striping.count);
  return ::ioctl(descriptor, kSetStripe, &request) == 0 ? 0 : errno;
}

}  // namespace damaris::hdf5
