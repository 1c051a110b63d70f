// The <stream-log> elements of <storage>: logs that clients append to.
#include "config/advice.hpp"
#include "config/build.hpp"
#include "config/declared_names.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/units.hpp"

namespace damaris::config {
namespace {

constexpr std::uint64_t kSmallestBlock = 4096;

// The part of the buffer that one client has, or all of it as long as their number is not known.
std::uint64_t smallest_buffer(const model::Model& model) {
  const int clients = clients_per_server(model);
  return clients == 0 || model.architecture.pooled ? model.architecture.buffer_bytes : smallest_arena(model, clients);
}

std::uint64_t block_bytes(Build& build, const Element& element) {
  const Attribute& attribute = *element.find("block");
  const auto bytes = parse_size(attribute.value);
  if (!bytes || *bytes < kSmallestBlock) {
    build.problems.add(attribute.value_where, format("{}: it must be at least {}", quoted(attribute), size_text(kSmallestBlock)));
    return kSmallestBlock;
  }
  if (const std::uint64_t most = smallest_buffer(build.model); attribute.given && *bytes > most)
    build.problems.add(attribute.value_where,
                       format("{}: it is larger than the {} that one client has of the buffer; give <buffer size=\"...\"> more, or "
                              "smaller blocks",
                              quoted(attribute), size_text(most)));
  return *bytes;
}

}  // namespace

void build_stream_logs(Build& build, const Element& storage) {
  DeclaredNames names;
  for (const Element& child : storage.children) {
    if (child.name != "stream-log") continue;
    model::StreamLog log;
    log.name = child.value("name");
    log.files = static_cast<int>(number(build, *child.find("files"), 1, model::kMostLogFiles));
    log.block_bytes = block_bytes(build, child);
    log.buffered = child.is_true("buffered");
    log.where = child.where;
    if (too_many(build, child, "stream logs", build.model.logs.size() + 1, model::kMostLogs)) return;
    if (names.add(build, "stream-log", log.name, child.where, 0)) build.model.logs.push_back(std::move(log));
  }
}

}  // namespace damaris::config
