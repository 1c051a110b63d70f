#include "core/model/expression.hpp"

#include <limits>

namespace damaris::model {

Expression Expression::constant(std::int64_t value) {
  Expression result;
  result.text_ = std::to_string(value);
  result.operations_.push_back({Op::push, value, 0});
  return result;
}

// Each helper throws on 64-bit overflow.
namespace {

std::int64_t add(std::int64_t a, std::int64_t b, std::size_t position) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) throw ExpressionError(position, "the sum does not fit into 64 bits");
  return result;
}

std::int64_t subtract(std::int64_t a, std::int64_t b, std::size_t position) {
  std::int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) throw ExpressionError(position, "the difference does not fit into 64 bits");
  return result;
}

std::int64_t multiply(std::int64_t a, std::int64_t b, std::size_t position) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) throw ExpressionError(position, "the product does not fit into 64 bits");
  return result;
}

std::int64_t divide(std::int64_t a, std::int64_t b, std::size_t position) {
  if (b == 0) throw ExpressionError(position, "division by zero");
  // lowest / -1 is the only quotient that overflows.
  return b == -1 ? subtract(0, a, position) : a / b;
}

std::int64_t modulo(std::int64_t a, std::int64_t b, std::size_t position) {
  if (b == 0) throw ExpressionError(position, "division by zero");
  return b == -1 ? 0 : a % b;
}

}  // namespace

std::int64_t Expression::evaluate(const std::function<std::int64_t(const std::string&)>& value_of) const {
  std::vector<std::int64_t> stack;
  const auto take = [&stack] {
    const std::int64_t top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Operation& operation : operations_) {
    if (operation.op == Op::push || operation.op == Op::load) {
      stack.push_back(operation.op == Op::push ? operation.operand : value_of(names_[static_cast<std::size_t>(operation.operand)]));
      continue;
    }
    const std::int64_t right = take();
    if (operation.op == Op::negate) {
      stack.push_back(subtract(0, right, operation.position));
      continue;
    }
    const std::int64_t left = take();
    switch (operation.op) {
      case Op::add:
        stack.push_back(add(left, right, operation.position));
        break;
      case Op::subtract:
        stack.push_back(subtract(left, right, operation.position));
        break;
      case Op::multiply:
        stack.push_back(multiply(left, right, operation.position));
        break;
      case Op::divide:
        stack.push_back(divide(left, right, operation.position));
        break;
      default:
        stack.push_back(modulo(left, right, operation.position));
        break;
    }
  }
  if (stack.empty()) throw ExpressionError(0, "the expression is empty");
  return stack.back();
}

}  // namespace damaris::model
