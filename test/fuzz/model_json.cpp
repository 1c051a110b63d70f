// The compiled model as a client reads it from a region that may be damaged; then what a client and a server make of it.
#include <damaris/error.hpp>

#include <fstream>
#include <memory>
#include <sstream>

#include "client/shapes.hpp"
#include "config/config.hpp"
#include "core/base/json.hpp"
#include "core/model/json.hpp"
#include "fuzz.hpp"
#include "server/intake.hpp"

using namespace damaris;
using fuzz::require;

namespace {

void use(const std::shared_ptr<const model::Model>& model) {
  const server::VariableInfos infos(*model);
  require(infos.all().size() == model->variables.size(), "every variable has a description");
  try {
    const std::string table = model::variable_table_of(*model);
    client::Shapes shapes(client::Declarations::of(model, table));
    for (const auto& variable : model->variables) shapes.find(variable.path);
  } catch (const Error&) {  // extents that cannot be
  }
}

// The model of an example that uses everything: what it has and an input lacks is filled in, so that inputs of older versions go on
// to find something.
const Json& whole_model() {
  static const Json whole = [] {
    std::ostringstream xml;
    xml << std::ifstream(FUZZ_EXAMPLE).rdbuf();
    return Json::parse(model::to_json(config::parse(xml.str(), FUZZ_EXAMPLE)));
  }();
  return whole;
}

void complete(Json& given, const Json& pattern) {
  if (given.is_object() && pattern.is_object())
    for (const auto& [key, value] : pattern.items()) given.contains(key) ? complete(given[key], value) : void(given[key] = value);
  if (given.is_array() && pattern.is_array() && !pattern.empty())
    for (Json& item : given) complete(item, pattern.front());
}

std::string completed(std::string_view text) {
  Json given = Json::parse(text, nullptr, false);
  if (!given.is_object()) return std::string(text);
  complete(given, whole_model());
  given["damaris_model"] = whole_model()["damaris_model"];
  return given.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = completed({reinterpret_cast<const char*>(data), size});
  try {
    const auto model = std::make_shared<const model::Model>(model::from_json(text));
    const std::string printed = model::to_json(*model);
    require(model::to_json(model::from_json(printed)) == printed, "parse(print(model)) == model", printed);
    use(model);
  } catch (const Error& error) {
    require(error.code() == DC_E_CONFIG, "a damaged model is DC_E_CONFIG", error.sentence());
  }
  return 0;
}
