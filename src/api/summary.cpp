#include "api/summary.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/base/units.hpp"

namespace damaris::api {
namespace {

std::string count_of(std::uint64_t number, const char* what) { return format("{} {}{}", number, what, number == 1 ? "" : "s"); }

}  // namespace

std::string summary_of(const shm::RegionHeader& header, const std::string& simulation, bool in_place) {
  const auto of = [](const std::atomic<std::uint64_t>& total) { return total.load(std::memory_order_relaxed); };
  std::string text = header.server_count > 1 ? format("{}, server {} of {}: ", simulation, header.server_index, header.server_count)
                                             : simulation + ": ";
  text += count_of(of(header.stored_steps), "step");
  if (of(header.stored_bytes) > 0)
    text += format(", {} of data in {} of files", size_text(of(header.raw_bytes)), size_text(of(header.stored_bytes)));
  if (const std::uint64_t failed = of(header.failed_steps); failed > 0) text += format("; {} NOT stored", count_of(failed, "step"));
  if (const std::uint64_t left = of(header.left_out); left > 0)
    text += format("; {} left out, as the buffer was full", count_of(left, "write"));
  text += format("; clients waited {:.1f} s for room", static_cast<double>(of(header.waited_ns)) * 1e-9);
  if (in_place) return text;
  const auto now = static_cast<double>(Clock::now().time_since_epoch().count() - header.serving_since_ns);
  const double idle = 1 - static_cast<double>(of(header.busy_ns)) / std::max(now, 1.0);
  return text + format("; the server was {:.0f} % idle", 100 * std::clamp(idle, 0.0, 1.0));
}

void print_summary(const shm::Region& region, const model::Frame& frame, bool in_place) {
  if (!frame.log.summary || !log_enabled(LogLevel::warning)) return;
  const std::string line = "damaris: " + summary_of(region.header(), frame.simulation, in_place) + "\n";
  const SignalGuard quiet;  // standard error may be a pipe without a reader
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace damaris::api
