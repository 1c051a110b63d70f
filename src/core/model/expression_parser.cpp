#include "core/model/expression_parser.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::model {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr int kDeepest = 64;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

ExpressionParser::ExpressionParser(std::string_view text) : text_(text) {
  if (text.size() > kLongest) throw ExpressionError(0, format("an expression may have at most {} characters", kLongest));
  result_.text_ = std::string(text);
}

Expression ExpressionParser::run() {
  sum();
  if (peek() != '\0' || at_ < text_.size()) fail("an operator (+ - * / %)");
  return std::move(result_);
}

void ExpressionParser::sum() {
  product();
  for (char op = peek(); op == '+' || op == '-'; op = peek()) {
    const std::size_t position = at_++;
    product();
    emit(op == '+' ? Op::add : Op::subtract, position);
  }
}

void ExpressionParser::product() {
  factor();
  for (char op = peek(); op == '*' || op == '/' || op == '%'; op = peek()) {
    const std::size_t position = at_++;
    factor();
    emit(op == '*' ? Op::multiply : op == '/' ? Op::divide : Op::modulo, position);
  }
}

void ExpressionParser::factor() {
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

void ExpressionParser::parenthesis() {
  ++at_;
  sum();
  if (peek() != ')') fail("')'");
  ++at_;
}

void ExpressionParser::number() {
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

void ExpressionParser::name() {
  const std::size_t position = at_;
  while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
  const std::string word(text_.substr(position, at_ - position));
  auto& names = result_.names_;
  const auto found = std::find(names.begin(), names.end(), word);
  const auto index = found - names.begin();
  if (found == names.end()) names.push_back(word);
  emit(Op::load, position, index);
}

char ExpressionParser::peek() {
  while (at_ < text_.size() && blank(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

void ExpressionParser::emit(Op op, std::size_t position, std::int64_t operand) {
  result_.operations_.push_back({op, operand, position});
}

void ExpressionParser::fail(const std::string& wanted) {
  const std::string found = at_ < text_.size() ? format("'{}'", text_[at_]) : std::string("the end");
  throw ExpressionError(at_, format("expected {}, found {}", wanted, found));
}

Expression Expression::parse(std::string_view text) { return ExpressionParser(text).run(); }

}  // namespace damaris::model
