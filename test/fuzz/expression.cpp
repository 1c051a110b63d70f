// Expressions of layouts and parameters: parsed, evaluated with numbers of the input, printed and parsed again.
#include "core/model/expression.hpp"
#include "fuzz.hpp"

using damaris::fuzz::require;
using damaris::model::Expression;
using damaris::model::ExpressionError;

namespace {

void evaluate(const Expression& expression, std::int64_t value) {
  try {
    expression.evaluate([&](const std::string&) { return value; });
  } catch (const ExpressionError& wrong) {
    require(wrong.position() <= expression.text().size(), "the place of an error lies in the text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  damaris::fuzz::Input input(data, size);
  const auto value = input.take<std::int64_t>();
  const std::string text(input.rest());
  try {
    const Expression expression = Expression::parse(text);
    require(expression.text() == text, "an expression keeps its text");
    const Expression again = Expression::parse(expression.text());
    require(again.names() == expression.names(), "parse(print(expression)) has the same names");
    for (const std::int64_t one : {value, std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) evaluate(expression, one);
  } catch (const ExpressionError& wrong) {
    require(wrong.position() <= text.size(), "the place of an error lies in the text");
  }
  return 0;
}
