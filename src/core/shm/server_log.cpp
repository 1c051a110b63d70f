#include "core/shm/server_log.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/model/json.hpp"

namespace damaris::shm {
namespace {

constexpr const char* kNone = "it keeps none; set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off";

}  // namespace

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
