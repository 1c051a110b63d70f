// Short ways from a piece of XML to the model, or to the sentences of its errors.
// Used by: the tests of the configuration, one thread.
// Before it: text inside a test. After it: REQUIRE.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "support/errors.hpp"

namespace damaris::test {

// The model of <simulation>`inside`</simulation>.
inline model::Model model_of(const std::string& inside, const std::string& attributes = "") {
  return config::parse("<simulation" + attributes + ">" + inside + "</simulation>", "x.xml");
}

// The error of a whole document; its code must be DC_E_CONFIG.
inline std::string error_text(const std::string& document) {
  const Error error = error_of([&] { config::parse(document, "x.xml"); });
  REQUIRE(error.code() == DC_E_CONFIG);
  return error.sentence();
}

inline std::string error_inside(const std::string& inside) { return error_text("<simulation>" + inside + "</simulation>"); }

inline std::string read_text(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// config-schemas/`folder` of the source tree, sorted.
inline std::vector<std::filesystem::path> schema_files(const std::string& folder) {
  const char* source = std::getenv("DAMARIS_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source) / "config-schemas" / folder))
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace damaris::test
