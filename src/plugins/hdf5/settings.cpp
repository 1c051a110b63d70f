#include "settings.hpp"

#include <damaris/error.hpp>

#include <cstdlib>
#include <filesystem>

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& remedy) {
  throw Error(DC_E_CONFIG, key + "=\"" + value + "\" is not possible; " + remedy);
}

void take_basename(Settings& settings, const std::string& value) {
  if (value.empty() || value.back() == '/')
    refuse("basename", value, "give a folder and the start of the file names, such as out/storm");
  settings.basename = value;
}

void take_restart(Settings& settings, const std::string& value) {
  if (value.empty() || value.back() == '/')
    refuse("restart", value, "give what basename was in the run to go on from, such as out/storm");
  settings.restart = value;
}

// What is read from must not be replaced while it is read.
void check_restart(const Settings& settings) {
  if (settings.restart.empty() || settings.existing != Existing::overwrite) return;
  const auto place = [](const std::string& basename) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(basename));
  };
  if (place(settings.restart) == place(settings.basename))
    refuse("restart", settings.restart,
           "it is the basename of this run, which replaces what is there (exists=\"overwrite\"); give this run another basename, "
           "or say exists=\"append\"");
}

void take_files(const std::string& value) {
  if (value != "per-server") refuse("files", value, "this version writes only per-server: one file per server and iteration");
}

void take_exists(Settings& settings, const std::string& value) {
  if (value == "overwrite") return void(settings.existing = Existing::overwrite);
  if (value == "refuse") return void(settings.existing = Existing::refuse);
  if (value == "append") return void(settings.existing = Existing::append);
  refuse("exists", value, "allowed are overwrite, refuse and append");
}

void take_threads(Settings& settings, const std::string& value) {
  const int threads =
      value.size() <= 2 && value.find_first_not_of("0123456789") == std::string::npos ? std::atoi(value.c_str()) : 0;
  if (threads < 1 || threads > 64) refuse("threads", value, "give 1 to 64, no more than the server has cores");
  settings.threads = threads;
}

void take(Settings& settings, const std::string& key, const std::string& value) {
  if (key == "basename") {
    take_basename(settings, value);
  } else if (key == "files") {
    take_files(value);
  } else if (key == "filters") {
    settings.filters = parse_filters(value);
  } else if (key == "threads") {
    take_threads(settings, value);
  } else if (key == "restart") {
    take_restart(settings, value);
  } else if (key == "exists") {
    take_exists(settings, value);
  } else {
    refuse(key, value, "<hdf5> knows basename, files, filters, threads, restart and exists");
  }
}

}  // namespace

Settings read_settings(const dc_host_t& host) {
  Settings settings;
  for (std::size_t i = 0; i < host.setting_count; ++i) take(settings, host.settings[i].key, host.settings[i].value);
  if (settings.basename.empty()) take_basename(settings, host.simulation);
  check_restart(settings);
  return settings;
}

}  // namespace damaris::hdf5
