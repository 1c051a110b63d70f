#include "core/shm/server_log.hpp"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file_facts.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/model/json.hpp"

namespace damaris::shm {
namespace {

constexpr std::int64_t kLookMs = 1000;  // for a file system to say what is there
constexpr std::int64_t kLineMs = 100;   // for a line that the server's logging thread may still have to write
constexpr const char* kRemedy = "set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off";

bool is_path(const model::ServerLog& log) { return !log.place.empty() && log.place.front() == '/'; }

// A file of an earlier run is none of this server's until its size has changed.
bool is_written(const model::ServerLog& log, const FileFacts& file) {
  return file.exists && (!file.is_regular || file.bytes != log.bytes_before);
}

// LogFile goes on beside it.
bool is_of_another_user(const model::ServerLog& log, const FileFacts& file) {
  return file.exists && log.place.rfind("/dev/", 0) != 0 && file.link_owner != ::geteuid();
}

model::ServerLog with_size(model::ServerLog log) {
  if (!is_path(log)) return log;
  if (const auto file = facts_within(log.place, kLookMs); file && file->is_regular) log.bytes_before = file->bytes;
  return log;
}

// "": it writes none, or has written nothing. A disk that does not answer may have the lines, or not.
std::string place_in_words(const model::ServerLog& log) {
  if (!is_path(log)) return log.place;
  const Deadline deadline = Deadline::after_ms(kLineMs);
  while (true) {
    const std::optional<FileFacts> file = facts_within(log.place, kLookMs);
    if (!file) return log.place + " (which cannot be looked at now)";
    if (is_of_another_user(log, *file)) return format("{}.* (as {} belongs to another user)", log.place, log.place);
    if (is_written(log, *file)) return log.place;
    if (deadline.passed()) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string why_none(const model::ServerLog& log) {
  return log.place.empty() ? format("it keeps none; {}", kRemedy) : format("it has written nothing to {}", log.place);
}

// Without a look at the file, which may be on a disk that hangs: whoever says this has logged them.
std::string only_in(const model::ServerLog& log) {
  return log.place.empty() ? format("lost, as the server has no log of them: {}", why_none(log))
                           : format("only in the server's log, {}", log.place);
}

}  // namespace

model::ServerLog server_log_of_this_process() { return with_size({log_place(), 0}); }

model::ServerLog log_of(const Region& region) try {
  return model::frame_from_json(region.model().frame).server_log;
} catch (const Error&) {  // the region is damaged, or one of a test without a model
  return {};
}

// It has the environment of this process, and with it DAMARIS_LOG.
model::ServerLog log_of_background_server(const model::Model& model) {
  if (!log_enabled(LogLevel::error)) return {};
  return with_size({place_of_log_file(model.log.file.empty() ? model::background_log_file(model) : model.log.file), 0});
}

std::string see_log(const model::ServerLog& log) {
  const std::string place = place_in_words(log);
  return place.empty() ? format("no log says why: {}", why_none(log)) : format("see its log, {}", place);
}

FoundLog find_log(const model::ServerLog& log) {
  std::string place = place_in_words(log);
  std::string why = place.empty() ? why_none(log) : "";
  return {std::move(place), std::move(why)};
}

std::string log_says(const FoundLog& log, const std::string& what) {
  return log.place.empty() ? format("no log {}: {}", what, log.why_none) : format("its log, {}, {}", log.place, what);
}

std::string log_will_say(const model::ServerLog& log, const std::string& what) {
  return log_says({log.place, why_none(log)}, what);
}

std::string only_in_log(const Region& region) { return only_in(log_of(region)); }

std::string only_in_own_log() { return only_in({log_place(), 0}); }

}  // namespace damaris::shm
