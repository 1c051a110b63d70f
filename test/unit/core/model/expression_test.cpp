#include "core/model/expression.hpp"

#include <catch2/catch.hpp>

#include <limits>

using damaris::model::Expression;
using damaris::model::ExpressionError;

namespace {

std::int64_t value(const std::string& text) {
  return Expression::parse(text).evaluate([](const std::string& name) -> std::int64_t {
    if (name == "nx") return 48;
    if (name == "zero") return 0;
    if (name == "lowest") return std::numeric_limits<std::int64_t>::min();
    throw ExpressionError(0, "unknown " + name);
  });
}

// What is wrong with `text`, and where: "position: what".
std::string error(const std::string& text) {
  try {
    value(text);
  } catch (const ExpressionError& wrong) {
    return std::to_string(wrong.position()) + ": " + wrong.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("products bind before sums, equal operators from left to right") {
  REQUIRE(value("2+3*4") == 14);
  REQUIRE(value("(2+3)*4") == 20);
  REQUIRE(value("20-5-3") == 12);
  REQUIRE(value("100/10/2") == 5);
  REQUIRE(value("17%5*2") == 4);
  REQUIRE(value("2*nx+1") == 97);
  REQUIRE(value(" ( nx + 6 )\t/ 2 ") == 27);
}

TEST_CASE("signs may precede anything and follow an operator") {
  REQUIRE(value("-nx") == -48);
  REQUIRE(value("2*-3") == -6);
  REQUIRE(value("--5") == 5);
  REQUIRE(value("+5-+2") == 3);
  REQUIRE(value("-(1+2)") == -3);
}

TEST_CASE("division truncates towards zero as in C and Fortran") {
  REQUIRE(value("-7/2") == -3);
  REQUIRE(value("-7%2") == -1);
  REQUIRE(value("lowest % -1") == 0);
}

TEST_CASE("overflow and division by zero are errors at the operator") {
  REQUIRE(error("9223372036854775807+1") == "19: the sum does not fit into 64 bits");
  REQUIRE(error("lowest-1") == "6: the difference does not fit into 64 bits");
  REQUIRE(error("4611686018427387904*2") == "19: the product does not fit into 64 bits");
  REQUIRE(error("lowest/-1") == "6: the difference does not fit into 64 bits");
  REQUIRE(error("-lowest") == "0: the difference does not fit into 64 bits");
  REQUIRE(error("1/zero") == "1: division by zero");
  REQUIRE(error("1%(nx-48)") == "1: division by zero");
  REQUIRE(error("9223372036854775808") == "0: the number does not fit into 64 bits");
}

TEST_CASE("an invalid expression is refused with the place and what was expected") {
  REQUIRE(error("") == "0: expected a number, a parameter or '(', found the end");
  REQUIRE(error("2+") == "2: expected a number, a parameter or '(', found the end");
  REQUIRE(error("(1+2") == "4: expected ')', found the end");
  REQUIRE(error("1 2") == "2: expected an operator (+ - * / %), found '2'");
  REQUIRE(error("2^3") == "1: expected an operator (+ - * / %), found '^'");
  REQUIRE(error("1.5") == "0: a number has decimal digits only");
  REQUIRE(error("3x") == "0: a number has decimal digits only");
}

TEST_CASE("nesting is bounded, breadth is not") {
  const std::string deep(60, '('), closed(60, ')');
  REQUIRE(value(deep + "1" + closed) == 1);
  REQUIRE(error(std::string(65, '(') + "1" + std::string(65, ')')) == "64: parentheses and signs are nested deeper than 64");
  REQUIRE(error(std::string(4000, '-') + "1") == "64: parentheses and signs are nested deeper than 64");
  std::string wide = "1";
  for (int i = 0; i < 2000; ++i) wide += "+1";
  REQUIRE(value(wide) == 2001);
  REQUIRE(error(std::string(4097, '1')) == "0: an expression may have at most 4096 characters");
}

TEST_CASE("names are listed once, in order of appearance") {
  REQUIRE(Expression::parse("b*a+b*c_1").names() == std::vector<std::string>{"b", "a", "c_1"});
  REQUIRE(Expression::constant(-5).names().empty());
  REQUIRE(Expression::constant(-5).text() == "-5");
}
