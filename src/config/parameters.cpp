#include <algorithm>

#include "config/build.hpp"
#include "config/declared_names.hpp"
#include "config/types.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMostParameters = 10'000;

// Sorts parameters topologically: each after those it uses.
class DependencySorter {
 public:
  DependencySorter(Build& build, const std::vector<model::Parameter>& declared)
      : build_(build), declared_(declared), state_(declared.size(), State::fresh) {
    for (std::size_t i = 0; i < declared.size(); ++i) index_.emplace(declared[i].name, i);
  }

  // Reports a problem that names the cycle and returns false if there is no such order.
  bool run() {
    for (std::size_t i = 0; i < declared_.size(); ++i)
      if (!visit(i)) return false;
    return true;
  }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  enum class State { fresh, open, done };

  bool visit(std::size_t i) {
    if (state_[i] == State::done) return true;
    path_.push_back(i);
    if (state_[i] == State::open) return report_cycle(i);
    state_[i] = State::open;
    for (const std::string& name : declared_[i].expression.names())
      if (const auto used = index_.find(name); used != index_.end() && !visit(used->second)) return false;
    path_.pop_back();
    state_[i] = State::done;
    order_.push_back(i);
    return true;
  }

  bool report_cycle(std::size_t i) {
    constexpr std::size_t kMaxNames = 20;
    const auto begin = std::find(path_.begin(), path_.end(), i);
    std::vector<std::string> names;
    for (auto it = begin; it != path_.end(); ++it) names.push_back(declared_[*it].name);
    if (names.size() > kMaxNames) names.erase(names.begin() + kMaxNames / 2, names.end() - kMaxNames / 2);
    build_.problems.add(declared_[*begin].where, format("parameters use each other in a circle: {}", join(names, " -> ")));
    return false;
  }

  Build& build_;
  const std::vector<model::Parameter>& declared_;
  std::map<std::string, std::size_t> index_;
  std::vector<State> state_;
  std::vector<std::size_t> path_, order_;
};

dc_type integer_type(Build& build, const Attribute& attribute) {
  const auto type = builtin_type(attribute.value);
  if (type && is_integer(*type)) return *type;
  build.problems.add(attribute.value_where,
                     format("{}: a parameter is an integer{}", quoted(attribute), integer_type_hint(attribute.value)));
  return DC_INT64;
}

std::vector<model::Parameter> declared_parameters(Build& build, const std::vector<const Element*>& elements) {
  std::vector<std::string> names;
  for (const Element* element : elements) names.push_back(element->value("name"));
  DeclaredNames known;
  std::vector<model::Parameter> parameters;
  for (const Element* element : elements) {
    model::Parameter p;
    p.name = element->value("name");
    p.where = element->where;
    p.type = integer_type(build, *element->find("type"));
    const Attribute& value = *element->find("value");
    p.expression = expression(build, value, {value.value, 0}, names).value_or(model::Expression::constant(0));
    const Attribute& constant = *element->find("constant");
    const bool computed = !p.expression.names().empty();
    p.constant = computed || constant.value == "true";
    if (computed && constant.given && constant.value == "false")
      build.problems.add(constant.where,
                         format("parameter '{}' is computed from {}, so it cannot be set; remove constant=\"false\"", p.name,
                                join(p.expression.names(), ", ")));
    if (known.add(build, "parameter", p.name, p.where, 0)) parameters.push_back(std::move(p));
  }
  return parameters;
}

// Computes the initial value. Problems name the parameter, its expression and the cause.
void evaluate(Build& build, model::Parameter& parameter, std::map<std::string, std::int64_t>& values) {
  const auto wrong = [&](const std::string& why) {
    build.problems.add(parameter.where, format("parameter '{}': '{}': {}", parameter.name, parameter.expression.text(), why));
  };
  try {
    parameter.value = parameter.expression.evaluate([&](const std::string& name) { return values.at(name); });
    if (parameter.value < model::lowest(parameter.type) || parameter.value > model::highest(parameter.type))
      wrong(format("{} is outside the range of {}", parameter.value, model::type_name(parameter.type)));
  } catch (const model::ExpressionError& error) {
    wrong(error.what());
  }
  values[parameter.name] = parameter.value;
}

}  // namespace

void build_parameters(Build& build) {
  const std::vector<const Element*> elements = build.all("parameter");
  if (!elements.empty() && too_many(build, *elements.front(), "parameters", elements.size(), kMostParameters)) return;
  const std::size_t problems = build.problems.size();
  const std::vector<model::Parameter> declared = declared_parameters(build, elements);
  DependencySorter sorter(build, declared);
  if (!sorter.run() || build.problems.size() != problems) {
    build.model.parameters = declared;
    return;
  }
  std::map<std::string, std::int64_t> values;
  for (const std::size_t i : sorter.order()) {
    build.model.parameters.push_back(declared[i]);
    evaluate(build, build.model.parameters.back(), values);
  }
}

}  // namespace damaris::config
