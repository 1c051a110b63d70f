#include "core/base/clock.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace damaris {
namespace {

std::string text_of(std::time_t seconds) {
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

constexpr std::chrono::milliseconds kFirstPause{20}, kLongestPause{1000};

}  // namespace

std::string utc_now() { return text_of(std::time(nullptr)) + "Z"; }

std::string utc_now_ms() {
  using std::chrono::milliseconds;
  const auto since = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  std::array<char, 16> fraction = {};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);  // also before 1970
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>((since - seconds).count()));
  return text_of(static_cast<std::time_t>(seconds.count())) + fraction.data();
}

bool may_be_transient(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EROFS:
    case ENOENT:  // a folder that is unmounted
    case ESTALE:
    case ETIMEDOUT:
    case ENOTCONN:
    case EACCES:
    case EPERM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

// A try may take long: the pause is at least as long, so that failing operations do not keep the disk busy.
bool Retry::again(int error, Instant since, Instant begun, Instant now) {
  ++failed_;
  if (!first_) first_ = begun;
  pause_ = failed_ == 1 ? Instant::duration(kFirstPause) : std::min<Instant::duration>(2 * pause_, kLongestPause);
  next_ = now + std::max(pause_, now - begun);
  if (!may_be_transient(error)) return false;
  if (!failing_since_) failing_since_ = begun;
  const Instant end = window_ ? std::max(since, *failing_since_) + *window_ : Instant::max();
  if (now >= end) return false;
  next_ = std::min(end, next_);
  return true;
}

void Retry::stored() {
  failing_since_.reset();
  next_thing();
}

void Retry::next_thing() {
  first_.reset();
  next_ = {};
  failed_ = 0;
}

double Retry::seconds(Instant now) const { return first_ ? std::chrono::duration<double>(now - *first_).count() : 0; }

std::string Retry::tries_text(Instant now) const {
  char text[32];  // not snprintf, which depends on the locale
  const auto end = std::to_chars(text, text + sizeof text, seconds(now), std::chars_format::fixed, 1);
  return std::to_string(failed_) + " tries within " + std::string(text, end.ptr) + " s";
}

}  // namespace damaris
