#include "settings.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/utf8.hpp"

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& remedy) {
  throw Error(DC_E_CONFIG, key + "=\"" + value + "\" is not possible; " + remedy);
}

bool names_no_file(const std::string& value) {
  const std::string last = std::filesystem::path(value).filename().string();
  return last.empty() || last == "." || last == "..";
}

void take_basename(Settings& settings, const std::string& value) {
  if (names_no_file(value)) refuse("basename", value, "give a folder and the start of the file names, such as out/storm");
  // The manifest names the files, and is JSON.
  if (find_not_utf8(std::filesystem::path(value).filename().string()) != std::string::npos)
    refuse("basename", value, "give a name in UTF-8");
  settings.basename = value;
}

void take_restart(Settings& settings, const std::string& value) {
  if (names_no_file(value)) refuse("restart", value, "give what basename was in the run to go on from, such as out/storm");
  settings.restart = value;
}

// What is read from must not be replaced while it is read.
void check_restart(const Settings& settings) {
  if (settings.restart.empty() || settings.existing != manifest::Existing::overwrite) return;
  if (same_place(settings.restart, settings.basename))
    refuse("restart", settings.restart,
           "it is the basename of this run, which replaces what is there (exists=\"overwrite\"); give this run another basename, "
           "or say exists=\"append\"");
}

void take_files(Settings& settings, const std::string& value) {
  if (value == "per-server") return void(settings.files = Files::per_server);
  if (value == "per-group") return void(settings.files = Files::per_group);
  if (value == "single") return void(settings.files = Files::single);
  refuse("files", value, "allowed are per-server, per-group and single");
}

void take_exists(Settings& settings, const std::string& value) {
  if (value == "overwrite") return void(settings.existing = manifest::Existing::overwrite);
  if (value == "refuse") return void(settings.existing = manifest::Existing::refuse);
  if (value == "append") return void(settings.existing = manifest::Existing::append);
  if (value == "recover") return void(settings.existing = manifest::Existing::recover);
  refuse("exists", value, "allowed are overwrite, refuse and append");
}

// A number of digits only, 0 for anything else.
int number(const std::string& value) {
  const bool digits = !value.empty() && value.size() <= 9 && value.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::atoi(value.c_str()) : 0;
}

void take_threads(Settings& settings, const std::string& value) {
  settings.threads = number(value);
  if (settings.threads < 1 || settings.threads > 64) refuse("threads", value, "give 1 to 64, no more than the server has cores");
}

constexpr std::uint64_t kLeastMemory = std::uint64_t{16} << 20;

void take_memory(Settings& settings, const std::string& value) {
  char* end = nullptr;
  settings.memory_bytes = std::strtoull(value.c_str(), &end, 10);
  if (*end != '\0' || settings.memory_bytes < kLeastMemory) refuse("memory-bytes", value, "give 16 MiB or more");
}

void take_schedule(Settings& settings, const std::string& value) {
  if (value == "immediate") return void(settings.schedule = ScheduleKind::immediate);
  if (value == "slots") return void(settings.schedule = ScheduleKind::slots);
  if (value == "coordinated") return void(settings.schedule = ScheduleKind::coordinated);
  refuse("schedule", value, "allowed are immediate, slots and coordinated");
}

void take_retry(Settings& settings, const std::string& value) {
  char* end = nullptr;
  settings.retry_ms = std::strtoll(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || settings.retry_ms < 0) refuse("retry-ms", value, "give 0 or more milliseconds");
}

void take_group_size(Settings& settings, const std::string& value) {
  settings.group_size = number(value);
  if (settings.group_size < 1) refuse("group-size", value, "give 1 or more");
}

void take_writers(Settings& settings, const std::string& value) {
  settings.writers = number(value);
  if (settings.writers < 1) refuse("writers", value, "give 1 or more");
}

void take(Settings& settings, const std::string& key, const std::string& value) {
  if (key == "basename") {
    take_basename(settings, value);
  } else if (key == "files") {
    take_files(settings, value);
  } else if (key == "group-size") {
    take_group_size(settings, value);
  } else if (key == "filters") {
    settings.filters = parse_filters(value);
  } else if (key == "threads") {
    take_threads(settings, value);
  } else if (key == "memory-bytes") {
    take_memory(settings, value);
  } else if (key == "restart") {
    take_restart(settings, value);
  } else if (key == "schedule") {
    take_schedule(settings, value);
  } else if (key == "writers") {
    take_writers(settings, value);
  } else if (key == "turn-timeout-ms") {
    settings.turn_timeout_ms = std::max(number(value), 1);
  } else if (key == "retry-ms") {
    take_retry(settings, value);
  } else if (key == "exists") {
    take_exists(settings, value);
  } else {
    refuse(
        key, value,
        "<hdf5> knows basename, files, group-size, filters, threads, memory, schedule, writers, turn-timeout, retry, restart and "
        "exists");
  }
}

}  // namespace

bool same_place(const std::string& basename, const std::string& other) {
  // What cannot be looked at is told when it is opened.
  const auto place = [](const std::string& name) {
    const std::filesystem::path whole = std::filesystem::absolute(name);
    std::error_code unreadable;
    const std::filesystem::path known = std::filesystem::weakly_canonical(whole, unreadable);
    return unreadable ? whole.lexically_normal() : known;
  };
  // Another way to the same record, such as a mount or a folder of links.
  std::error_code none;
  return place(basename) == place(other) || std::filesystem::equivalent(basename + ".jsonl", other + ".jsonl", none);
}

Settings read_settings(const dc_host_t& host) {
  Settings settings;
  for (std::size_t i = 0; i < host.setting_count; ++i) take(settings, host.settings[i].key, host.settings[i].value);
  if (settings.basename.empty()) take_basename(settings, host.simulation);
  check_restart(settings);
  return settings;
}

}  // namespace damaris::hdf5
