#include "core/model/expression.hpp"

#include <algorithm>
#include <limits>

#include "core/base/format.hpp"

namespace damaris::model {
namespace {

// Each helper throws on 64-bit overflow.

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

constexpr std::size_t kLongest = 4096;
constexpr int kDeepest = 64;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Expression Expression::constant(std::int64_t value) {
  Expression result;
  result.text_ = std::to_string(value);
  result.operations_.push_back({Op::push, value, 0});
  return result;
}

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

// Text -> postfix steps of an Expression, by recursive descent with a bounded depth.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {
    if (text.size() > kLongest) throw ExpressionError(0, format("an expression may have at most {} characters", kLongest));
    result_.text_ = std::string(text);
  }

  Expression run() {
    sum();
    if (peek() != '\0' || at_ < text_.size()) fail("an operator (+ - * / %)");
    return std::move(result_);
  }

 private:
  using Op = Expression::Op;

  void sum() {
    product();
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      const std::size_t position = at_++;
      product();
      emit(op == '+' ? Op::add : Op::subtract, position);
    }
  }

  void product() {
    factor();
    for (char op = peek(); op == '*' || op == '/' || op == '%'; op = peek()) {
      const std::size_t position = at_++;
      factor();
      emit(op == '*' ? Op::multiply : op == '/' ? Op::divide : Op::modulo, position);
    }
  }

  void factor() {
    const char c = peek();
    const std::size_t position = at_;
    if (++depth_ > kDeepest) throw ExpressionError(position, format("parentheses and signs are nested deeper than {}", kDeepest));
    if (c == '-' || c == '+') {
      ++at_;
      factor();
      if (c == '-') emit(Op::negate, position);
    } else if (c == '(') {
      parenthesis();
    } else if (digit(c)) {
      number();
    } else if (letter(c)) {
      name();
    } else {
      fail("a number, a parameter or '('");
    }
    --depth_;
  }

  void parenthesis() {
    ++at_;
    sum();
    if (peek() != ')') fail("')'");
    ++at_;
  }

  void number() {
    const std::size_t position = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && digit(text_[at_]); ++at_)
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value))
        throw ExpressionError(position, "the number does not fit into 64 bits");
    if (at_ < text_.size() && (text_[at_] == '.' || letter(text_[at_])))
      throw ExpressionError(position, "a number has decimal digits only");
    emit(Op::push, position, value);
  }

  void name() {
    const std::size_t position = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
    const std::string word(text_.substr(position, at_ - position));
    auto& names = result_.names_;
    const auto found = std::find(names.begin(), names.end(), word);
    const auto index = found - names.begin();
    if (found == names.end()) names.push_back(word);
    emit(Op::load, position, index);
  }

  // The next non-blank character, or '\0' at the end.
  char peek() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void emit(Op op, std::size_t position, std::int64_t operand = 0) { result_.operations_.push_back({op, operand, position}); }

  [[noreturn]] void fail(const std::string& wanted) {
    const std::string found = at_ < text_.size() ? format("'{}'", text_[at_]) : std::string("the end");
    throw ExpressionError(at_, format("expected {}, found {}", wanted, found));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression result_;
};

Expression Expression::parse(std::string_view text) { return ExpressionParser(text).run(); }

}  // namespace damaris::model
