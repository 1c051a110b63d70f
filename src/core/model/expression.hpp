// Integer expressions over parameters, as in dimensions="2*nx+1,ny": parsed once, evaluated wherever parameters change.
// Used by: config (parse) on start-up; clients (evaluate) when a parameter changes, off the hot path.
// Before it: the text of an XML attribute. After it: extents of a layout.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace damaris::model {

// An error in an expression, and its byte offset in the text.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::size_t position, const std::string& what) : std::runtime_error(what), position_(position) {}
  std::size_t position() const noexcept { return position_; }

 private:
  std::size_t position_;
};

// 64-bit integers, names (letters, digits, '_'), + - * / % and parentheses, unary minus and plus. Division truncates towards zero as in C
// and Fortran.
// Immutable after parse. Overflow and division by zero throw during evaluation; never undefined behaviour.
class Expression {
 public:
  Expression() = default;
  // Throws ExpressionError, also for nesting deeper than 64 and texts longer than 4096 bytes.
  static Expression parse(std::string_view text);
  static Expression constant(std::int64_t value);

  // The distinct names used, in order of appearance.
  const std::vector<std::string>& names() const noexcept { return names_; }
  const std::string& text() const noexcept { return text_; }
  // `value_of` returns the value of a name; it may throw. Throws ExpressionError.
  std::int64_t evaluate(const std::function<std::int64_t(const std::string&)>& value_of) const;

 private:
  friend class ExpressionParser;
  enum class Op : std::uint8_t { push, load, add, subtract, multiply, divide, modulo, negate };
  struct Operation {
    Op op;
    std::int64_t operand;  // push: value; load: index into names_
    std::size_t position;  // byte in text_, for messages
  };
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Operation> operations_;  // postfix
};

}  // namespace damaris::model
