#include "core/shm/server_facts.hpp"

#include <algorithm>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/model/json.hpp"

namespace damaris::shm {
namespace {

constexpr const char* kNone = "it keeps none; set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off";

}  // namespace

void show_busy(RegionHeader& header, const std::string& what) noexcept {
  const std::size_t length = std::min(what.size(), sizeof header.busy_with - 1);
  for (std::size_t i = 0; i < length; ++i) header.busy_with[i].store(what[i], std::memory_order_relaxed);
  header.busy_with[length].store('\0', std::memory_order_relaxed);
  header.busy_since_ns.store(what.empty() ? 0 : Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

Busy busy_with(const RegionHeader& header) {
  Busy busy;
  busy.since_ns = header.busy_since_ns.load(std::memory_order_relaxed);
  if (busy.since_ns == 0) return busy;
  for (const auto& letter : header.busy_with) {
    const char c = letter.load(std::memory_order_relaxed);
    if (c == '\0') break;
    busy.what += c;
  }
  // In floating point: another process may have written a value far out of range, and the integer difference would overflow.
  busy.seconds = (static_cast<double>(Clock::now().time_since_epoch().count()) - static_cast<double>(busy.since_ns)) * 1e-9;
  return busy;
}

std::string log_of(const Region& region) try {
  return model::frame_from_json(region.model().frame).server_log;
} catch (const Error&) {  // the region is damaged, or one of a test without a model
  return "";
}

// It has the environment of this process, and with it DAMARIS_LOG.
std::string log_of_background_server(const model::Model& model) {
  if (!log_enabled(LogLevel::error)) return "";
  return place_of_log_file(model.log.file.empty() ? model::background_log_file(model) : model.log.file);
}

std::string see_log(const std::string& place) {
  return place.empty() ? format("no log says why: {}", kNone) : format("see its log, {}", place);
}

std::string log_says(const std::string& place, const std::string& what) {
  return place.empty() ? format("no log {}: {}", what, kNone) : format("its log, {}, {}", place, what);
}

std::string only_in_log(const std::string& place) {
  return place.empty() ? format("lost, as the server has no log of them: {}", kNone)
                       : format("only in the server's log, {}", place);
}

}  // namespace damaris::shm
