#include "views.hpp"

namespace damaris::manifest {
namespace {

const char* name_of(dc_type type) {
  static const char* const kNames[] = {"any",    "int8",   "int16",   "int32",   "int64", "uint8",   "uint16",
                                       "uint32", "uint64", "float32", "float64", "char",  "compound"};
  return kNames[type];
}

std::string field_text(const dc_field_t& field) {
  return std::string(field.name) + ": " + name_of(field.type) + (field.count == 1 ? "" : "[" + std::to_string(field.count) + "]");
}

std::string type_text(const dc_variable_info_t& variable) {
  if (variable.field_count == 0) return name_of(variable.type);
  std::string text;
  for (int i = 0; i < variable.field_count; ++i) text += (i == 0 ? "{" : ", ") + field_text(variable.fields[i]);
  return text + "}";
}

}  // namespace

std::string declared_as(const dc_variable_info_t& variable) {
  const std::string unit = variable.unit;
  return type_text(variable) + (unit.empty() ? "" : " in " + unit);
}

std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host) {
  Declarations all;
  for (std::size_t i = 0; i < host.variable_count; ++i) all.emplace(host.variables[i].path, declared_as(host.variables[i]));
  return std::make_shared<const Declarations>(std::move(all));
}

}  // namespace damaris::manifest
