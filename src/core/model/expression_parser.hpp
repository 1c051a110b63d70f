// Text -> postfix steps of an Expression, by recursive descent with a bounded depth.
// Used by: Expression::parse only, in the process that reads the XML or a compiled model.
// Before it: an attribute's text. After it: Expression::evaluate.
#pragma once

#include "core/model/expression.hpp"

namespace damaris::model {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text);
  Expression run();

 private:
  using Op = Expression::Op;
  void sum();
  void product();
  void factor();
  void number();
  void name();
  void parenthesis();

  char peek();  // the next non-blank character, or '\0' at the end
  void emit(Op op, std::size_t position, std::int64_t operand = 0);
  [[noreturn]] void fail(const std::string& wanted);

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression result_;
};

}  // namespace damaris::model
