#include "server_report.hpp"

#include <damaris/error.hpp>

#include <cstdint>
#include <utility>

#include "core/base/json.hpp"
#include "encoded_files.hpp"

namespace damaris::manifest {
namespace {

constexpr char kReport = 'r';

}  // namespace

ServerReport report_of(StepEntry& record, int server, bool is_own, std::string& facts) {
  ServerReport report;
  ServerFiles& files = report.files;
  files.server = server;
  files.is_own = is_own;
  files.total = total_of(record.files);
  std::string now;
  if (!record.files.empty()) {
    now = facts_of(record.files);
    if (is_own || now != facts) files.facts = now;
    files.values = values_of(record.files);
  }
  std::vector<FileEntry> left_out;
  left_out.swap(record.files);
  report.step = record;
  left_out.swap(record.files);
  if (!now.empty()) facts = std::move(now);
  return report;
}

std::string to_message(const ServerReport& report) {
  const ServerFiles& files = report.files;
  Json head = {{"step", to_json(report.step)},       {"facts", files.facts.size()},
               {"values", files.values.size()},      {"datasets", files.total.datasets},
               {"raw_bytes", files.total.raw_bytes}, {"stored_bytes", files.total.stored_bytes}};
  return kReport + text_of(head) + "\n" + files.facts + files.values;
}

bool is_report(std::string_view message) { return !message.empty() && message.front() == kReport; }

ServerReport report_from(int server, std::string_view message) {
  const std::size_t end = message.find('\n');
  if (end == std::string_view::npos) throw Error(DC_E_IO, "the report of a server is damaged");
  const Json head = Json::parse(message.substr(1, end - 1));
  message.remove_prefix(end + 1);
  ServerReport report;
  report.step = step_from_json(head.at("step"));
  report.files.server = server;
  std::size_t facts = 0, values = 0;
  read_value(head.at("facts"), facts);
  read_value(head.at("values"), values);
  if (facts > message.size() || values != message.size() - facts) throw Error(DC_E_IO, "the report of a server is cut off");
  report.files.facts = message.substr(0, facts);
  report.files.values = message.substr(facts);
  read_value(head.at("datasets"), report.files.total.datasets);
  read_value(head.at("raw_bytes"), report.files.total.raw_bytes);
  read_value(head.at("stored_bytes"), report.files.total.stored_bytes);
  return report;
}

}  // namespace damaris::manifest
