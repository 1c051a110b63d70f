#include "tools/verify/logs.hpp"

#include <damaris/error.hpp>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "logs/reader.hpp"

namespace damaris::tools {
namespace {

void inspect(const std::string& path, bool quick, Logs& logs) {
  const logs::Reader reader(path);
  ++logs.number;
  logs.streams += reader.streams().size();
  for (const auto& [number, stream] : reader.streams()) logs.bytes += stream.bytes;
  if (!quick)
    for (std::string& damage : reader.damages()) logs.damaged.push_back(std::move(damage));
  for (const logs::Hole& hole : reader.holes())
    logs.holes.push_back(format("{}: {} bytes at {} are a hole, left by a client that died; no stream lacks a byte there",
                                hole.file, hole.place.bytes, hole.place.offset));
  if (!reader.index().ended()) logs.unended.push_back(path);
}

}  // namespace

bool has_logs(const std::string& run) { return !logs::Reader::indexes_of(run).empty(); }

Logs inspect_logs(const std::string& run, bool quick) {
  Logs logs;
  for (const std::string& path : logs::Reader::indexes_of(run)) try {
      inspect(path, quick, logs);
    } catch (const Error& error) {
      logs.damaged.push_back(error.sentence());
    }
  return logs;
}

std::string summary(const Logs& logs) {
  return format("{} log{}, {} stream{}, {}: {}", logs.number, logs.number == 1 ? "" : "s", logs.streams,
                logs.streams == 1 ? "" : "s", size_text(logs.bytes),
                logs.damaged.empty() ? "all as recorded" : format("{} damaged", logs.damaged.size()));
}

Json json_of(const Logs& logs) {
  return {{"number", logs.number},   {"streams", logs.streams}, {"bytes", logs.bytes},
          {"damaged", logs.damaged}, {"holes", logs.holes},     {"not_ended", logs.unended}};
}

}  // namespace damaris::tools
