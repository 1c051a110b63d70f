#include "core/shm/server_log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/model/json.hpp"

namespace damaris::shm {
namespace {

constexpr const char* kRemedy = "set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off";

bool is_path(const model::ServerLog& log) { return !log.place.empty() && log.place.front() == '/'; }

// Regular files only grow, so a file of an earlier run is none of this server's until it has.
bool is_written(const model::ServerLog& log) {
  struct stat info = {};
  if (!is_path(log)) return !log.place.empty();
  if (::stat(log.place.c_str(), &info) != 0) return false;
  return !S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) > log.bytes_before;
}

// LogFile goes on beside it.
bool is_of_another_user(const model::ServerLog& log) {
  struct stat info = {};
  return is_path(log) && log.place.rfind("/dev/", 0) != 0 && ::lstat(log.place.c_str(), &info) == 0 && info.st_uid != ::geteuid();
}

model::ServerLog with_size(model::ServerLog log) {
  struct stat info = {};
  if (is_path(log) && ::stat(log.place.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    log.bytes_before = static_cast<std::uint64_t>(info.st_size);
  return log;
}

// "": it writes none, or has written nothing.
std::string place_in_words(const model::ServerLog& log) {
  if (is_of_another_user(log)) return format("{}.* (as {} belongs to another user)", log.place, log.place);
  const Deadline deadline = Deadline::after_ms(100);
  while (is_path(log) && !is_written(log) && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return is_written(log) ? log.place : "";
}

std::string why_none(const model::ServerLog& log) {
  return log.place.empty() ? format("it keeps none; {}", kRemedy) : format("it has written nothing to {}", log.place);
}

std::string only_in(const std::string& place, const model::ServerLog& log) {
  return place.empty() ? format("lost, as the server has no log of them: {}", why_none(log))
                       : format("only in the server's log, {}", place);
}

model::ServerLog log_in(const Region& region) try {
  return model::from_json(std::string(region.model())).server_log;
} catch (const Error&) {  // the region is damaged, or one of a test without a model
  return {};
}

}  // namespace

model::ServerLog server_log_of_this_process() { return with_size({log_place(), 0}); }

// It has the environment of this process, and with it DAMARIS_LOG.
model::ServerLog log_of_background_server(const model::Model& model) {
  if (!log_enabled(LogLevel::error)) return {};
  return with_size({place_of_log_file(model.log.file.empty() ? model::background_log_file(model) : model.log.file), 0});
}

std::string see_log(const model::ServerLog& log) {
  const std::string place = place_in_words(log);
  return place.empty() ? format("no log says why: {}", why_none(log)) : format("see its log, {}", place);
}

std::string log_says(const Region& region, const std::string& what) {
  const model::ServerLog log = log_in(region);
  const std::string place = place_in_words(log);
  return place.empty() ? format("no log {}: {}", what, why_none(log)) : format("its log, {}, {}", place, what);
}

std::string only_in_log(const Region& region) {
  const model::ServerLog log = log_in(region);
  return only_in(place_in_words(log), log);
}

std::string only_in_own_log() {
  const std::string place = log_place();
  return only_in(place, {place, 0});
}

}  // namespace damaris::shm
