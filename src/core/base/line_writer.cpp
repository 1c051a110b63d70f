#include "core/base/line_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

constexpr std::int64_t kLineMs = 1000, kNoProgressMs = 200;
constexpr std::size_t kAtOnce = 4096;        // a pipe that polls ready accepts this much, unless another process fills it first
constexpr std::size_t kTerminalAtOnce = 16;  // a terminal that polls ready accepts little more than one byte

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

// The same pipe or terminal, opened once more: O_NONBLOCK on the given descriptor would apply to all processes that share it. Not kept
// between lines, because a reader waits for the end of a pipe as long as anyone has it open.
class Unblocked {
 public:
  explicit Unblocked(int given) : given_(given) {
    struct stat facts = {};
    if (::fstat(given, &facts) != 0) return;
    is_pipe_ = S_ISFIFO(facts.st_mode);
    is_socket_ = S_ISSOCK(facts.st_mode);
    is_terminal_ = S_ISCHR(facts.st_mode) && ::isatty(given) == 1;
    const int flags = ::fcntl(given, F_GETFL);
    if ((flags & O_NONBLOCK) != 0 || (!is_pipe_ && !is_terminal_)) return;
    const StdioGuard filled;
    opened_ = ::open(("/proc/self/fd/" + std::to_string(given)).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  ~Unblocked() {
    if (opened_ >= 0) ::close(opened_);
  }
  Unblocked(const Unblocked&) = delete;
  Unblocked& operator=(const Unblocked&) = delete;

  int descriptor() const noexcept { return opened_ >= 0 ? opened_ : given_; }
  // As write(2) of at least the first byte.
  ssize_t write(std::string_view text) const noexcept {
    text = text.substr(0, kAtOnce);
    if (opened_ >= 0) return ::write(opened_, text.data(), text.size());
    if (is_socket_) return ::send(given_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (is_terminal_) text = text.substr(0, kTerminalAtOnce);
    const iovec piece = {const_cast<char*>(text.data()), text.size()};
    const ssize_t written = is_pipe_ ? ::pwritev2(given_, &piece, 1, -1, RWF_NOWAIT) : -1;
    const bool is_known = is_pipe_ && (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL));
    return is_known ? written : ::write(given_, text.data(), text.size());
  }

 private:
  const int given_;
  int opened_ = -1;  // stays so where /proc is missing, the terminal is another user's, or the pipe has no reader
  bool is_pipe_ = false, is_socket_ = false, is_terminal_ = false;
};

}  // namespace

std::string_view LineWriter::write(int descriptor, std::string_view line) {
  const Unblocked target(descriptor);
  const Deadline whole = Deadline::after_ms(kLineMs);
  while (!line.empty()) {
    pollfd place = {target.descriptor(), POLLOUT, 0};
    const int ready = ::poll(&place, 1, is_stuck_ ? 0 : static_cast<int>(whole.left_ms(kNoProgressMs)));
    if (ready < 0 && errno != EINTR) return {};
    const ssize_t written = ready > 0 ? target.write(line) : 0;
    const int error = ready > 0 && written < 0 ? errno : 0;
    if (error != 0 && error != EINTR && !would_block(error)) return line;
    is_stuck_ = ready == 0 || whole.passed() || (is_stuck_ && written <= 0);
    if (written > 0) line.remove_prefix(static_cast<std::size_t>(written));
    if (is_stuck_) return {};
    if (would_block(error)) ::poll(nullptr, 0, 1);  // ready, but for less than this: for instance a terminal for half a line break
  }
  return {};
}

}  // namespace damaris
