#include "settings.hpp"

#include <damaris/error.hpp>

#include <charconv>
#include <filesystem>

#include "../file/new_dataset.hpp"

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& why) {
  throw Error(DC_E_CONFIG, key + "=\"" + value + "\": " + why);
}

const StorageAttribute& attribute_of(const std::string& key, const std::string& value) {
  std::string known;
  for (const StorageAttribute& attribute : kAttributes) {
    if (attribute.kind == ValueKind::reduction) continue;  // applied to the variables by config
    if (setting_key(attribute) == key) return attribute;
    known += (known.empty() ? "" : ", ") + setting_key(attribute);
  }
  refuse(key, value, "<hdf5> has no such setting; known are " + known);
}

std::int64_t number_of(const StorageAttribute& attribute, const std::string& value) {
  std::int64_t number = -1;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc{} && stop == end && number >= attribute.lowest && number <= attribute.highest) return number;
  refuse(setting_key(attribute), value,
         "it must be a whole number from " + std::to_string(attribute.lowest) + " to " + std::to_string(attribute.highest));
}

template <class Choice>
Choice choice_from(const StorageAttribute& attribute, const std::string& value) {
  const int choice = choice_of(attribute, value);
  if (choice < 0) refuse(setting_key(attribute), value, "it is not one of the choices of this attribute");
  return static_cast<Choice>(choice);
}

manifest::Existing existing_of(const StorageAttribute& attribute, const std::string& value) {
  constexpr manifest::Existing kChoices[] = {manifest::Existing::automatic, manifest::Existing::overwrite,
                                             manifest::Existing::refuse, manifest::Existing::append};
  if (value == "recover") return manifest::Existing::recover;  // not in the XML: set by `damaris recover`
  return kChoices[choice_from<int>(attribute, value)];
}

// Checked here too, because `damaris recover` may give another basename than the XML.
std::string basename_of(const StorageAttribute& attribute, const std::string& value) {
  if (const std::string why = basename_problem(value); !why.empty()) refuse(setting_key(attribute), value, why);
  return value;
}

std::vector<Filter> filters_of(const std::string& value) {
  std::vector<Filter> filters = parse_filters(value, [&](const FilterProblem& problem) { refuse("filters", value, problem.why); });
  check_available(filters);
  return filters;
}

void take(Settings& settings, const std::string& key, const std::string& value) {
  const StorageAttribute& attribute = attribute_of(key, value);
  if (attribute.name == "basename") settings.basename = basename_of(attribute, value);
  if (attribute.name == "restart") settings.restart = basename_of(attribute, value);
  if (attribute.name == "files") settings.files = choice_from<Files>(attribute, value);
  if (attribute.name == "schedule") settings.schedule = choice_from<ScheduleKind>(attribute, value);
  if (attribute.name == "exists") settings.existing = existing_of(attribute, value);
  if (attribute.name == "filters") settings.filters = filters_of(value);
  if (attribute.name == "group-size") settings.group_size = static_cast<int>(number_of(attribute, value));
  if (attribute.name == "threads") settings.threads = static_cast<int>(number_of(attribute, value));
  if (attribute.name == "writers") settings.writers = static_cast<int>(number_of(attribute, value));
  if (attribute.name == "memory") settings.memory_bytes = static_cast<std::uint64_t>(number_of(attribute, value));
  if (attribute.name == "turn-timeout") settings.turn_timeout_ms = number_of(attribute, value);
  if (attribute.name == "retry") settings.retry_ms = number_of(attribute, value);
}

// A run that is read must not be replaced meanwhile.
void check_restart(const Settings& settings) {
  const bool may_overwrite =
      settings.existing == manifest::Existing::overwrite || settings.existing == manifest::Existing::automatic;
  if (!settings.restart.empty() && may_overwrite && same_place(settings.restart, settings.basename))
    refuse("restart", settings.restart,
           "it is the basename of this run, which overwrites the earlier run; give this run another basename, "
           "or use exists=\"append\"");
}

}  // namespace

bool same_place(const std::string& basename, const std::string& other) {
  // An inaccessible path fails when it is opened.
  const auto place = [](const std::string& name) {
    const std::filesystem::path whole = std::filesystem::absolute(name);
    std::error_code unreadable;
    const std::filesystem::path known = std::filesystem::weakly_canonical(whole, unreadable);
    return unreadable ? whole.lexically_normal() : known;
  };
  // Another path to the same folder, such as a mount.
  const std::filesystem::path one = place(basename), two = place(other);
  std::error_code none;
  return one == two ||
         (one.filename() == two.filename() && std::filesystem::equivalent(one.parent_path(), two.parent_path(), none));
}

Settings read_settings(const dc_host_t& host) {
  Settings settings;
  for (std::size_t i = 0; i < host.setting_count; ++i) take(settings, host.settings[i].key, host.settings[i].value);
  if (settings.basename.empty()) settings.basename = basename_of(*attribute_named("basename"), host.simulation);
  check_restart(settings);
  return settings;
}

}  // namespace damaris::hdf5
