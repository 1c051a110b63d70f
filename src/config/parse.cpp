#include "config/build.hpp"
#include "config/config.hpp"
#include "config/schema.hpp"
#include "config/xerces.hpp"
#include "config/xml_reader.hpp"

namespace damaris::config {
namespace {

Element read_valid(const std::string& text, const Schema& schema, Problems& problems) {
  Document document = read_xml(text, schema, problems);
  if (!document.schema_errors.empty()) explain(document, schema, problems);
  problems.throw_if_any();
  return std::move(document.root);
}

model::Model read(const std::string& text, const std::string& path, const Schema& schema) {
  Problems problems(path);
  const Element root = read_valid(text, schema, problems);
  model::Model model;
  model.file = path;
  Build build = start_build(root, model, problems);
  build_architecture(build);
  build_log(build);
  build_parameters(build);
  build_types(build);
  build_layouts(build);
  build_variables(build);
  build_storage(build);
  build_actions(build);
  check_log_file(build);
  problems.throw_if_any();
  check_model(build);
  problems.throw_if_any();
  return model;
}

}  // namespace

model::Model parse(const std::string& text, const std::string& path) try { return read(text, path, Schema()); } catch (...) {
  throw_without_xerces(path);
}

model::Model parse(const std::string& text, const std::string& path, const Schema& schema) try {
  return read(text, path, schema);
} catch (...) {
  throw_without_xerces(path);
}

}  // namespace damaris::config
