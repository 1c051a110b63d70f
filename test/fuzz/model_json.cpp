// The compiled model as a client reads it from a region that may be damaged; then what a client and a server make of it.
#include <damaris/error.hpp>

#include <memory>

#include "client/shapes.hpp"
#include "core/model/json.hpp"
#include "fuzz.hpp"
#include "server/intake.hpp"

using damaris::fuzz::require;

namespace {

void use(const std::shared_ptr<const damaris::model::Model>& model) {
  const damaris::server::VariableInfos infos(*model);
  require(infos.all().size() == model->variables.size(), "every variable has a description");
  try {
    damaris::client::Shapes shapes(model);
    for (const auto& variable : model->variables) shapes.find(variable.path);
  } catch (const damaris::Error&) {  // extents that cannot be
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto model = std::make_shared<const damaris::model::Model>(damaris::model::from_json(text));
    const std::string printed = damaris::model::to_json(*model);
    require(damaris::model::to_json(damaris::model::from_json(printed)) == printed, "parse(print(model)) == model", printed);
    use(model);
  } catch (const damaris::Error& error) {
    require(error.code() == DC_E_CONFIG, "a damaged model is DC_E_CONFIG", error.sentence());
  }
  return 0;
}
