// Finds the plugins of a model, and checks whether they can be loaded.
// Used by: damaris-check, one thread. Only load_plugins runs code of plugins: their entry function and what runs on loading.
// Before it: the model. After it: warnings, or a table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "tools/check/text_table.hpp"

namespace damaris::check {

// One sentence for each shared object that the servers would not find.
std::vector<std::string> missing_plugins(const model::Model& model);

// Loads all plugins as a server does. Rows: name, path. Throws Error(DC_E_PLUGIN, DC_E_VERSION) for a missing file or symbol, or a wrong
// version.
std::vector<Row> load_plugins(const std::shared_ptr<const model::Model>& model);

}  // namespace damaris::check
