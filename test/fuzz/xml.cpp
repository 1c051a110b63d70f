// The XML of a configuration: text -> schema -> model, the whole of src/config.
#include <damaris/error.hpp>

#include <regex>
#include <sstream>

#include "config/config.hpp"
#include "config/schema.hpp"
#include "core/model/json.hpp"
#include "fuzz.hpp"

using damaris::fuzz::require;

namespace {

// Every line is "fuzz.xml:LINE:COLUMN: sentence", but for the last one of many: "fuzz.xml: and N more errors".
void check_sentence(const std::string& sentence) {
  static const std::regex placed("fuzz\\.xml:[1-9][0-9]*:[1-9][0-9]*: .+"), more("fuzz\\.xml: and (at least )?[0-9]+ more errors");
  std::istringstream lines(sentence);
  bool any = false;
  for (std::string line; std::getline(lines, line); any = true)
    require(std::regex_match(line.substr(0, 200), placed) || std::regex_match(line, more),
            "every problem has file, line and column", line);
  require(any, "a refusal says why");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const damaris::config::Schema schema;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const damaris::model::Model model = damaris::config::parse(text, "fuzz.xml", schema);
    const std::string printed = damaris::model::to_json(model);
    require(damaris::model::to_json(damaris::model::from_json(printed)) == printed, "parse(print(model)) == model", printed);
  } catch (const damaris::Error& error) {
    require(error.code() == DC_E_CONFIG, "a bad configuration is DC_E_CONFIG", error.sentence());
    check_sentence(error.sentence());
  }
  return 0;
}
