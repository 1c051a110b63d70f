#include "idle.hpp"

#include <thread>

#include "core/base/clock.hpp"
#include "progress.hpp"

namespace damaris::bench {

Row measure_idle_server(const LocalServer& server, int windows, int window_ms) {
  Progress progress("idle server");
  std::vector<double> percent;
  for (int window = 0; window < windows; ++window) {
    progress.show(window, windows);
    const double cpu = server.cpu_ns();
    const Clock::time_point start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    percent.push_back((server.cpu_ns() - cpu) / (seconds_since(start) * 1e9) * 100);
  }
  return {"idle server, % of a core", estimate(percent), true, 1, 0.5, 0};
}

}  // namespace damaris::bench
