#include "config/schema.hpp"

#include <algorithm>
#include <map>

#include "config/problems.hpp"
#include "config/xml_reader.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"

namespace damaris::config {
namespace {

std::string tags(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += format("{}<{}>", text.empty() ? "" : ", ", name);
  return text;
}

class Explainer {
 public:
  Explainer(const Schema& schema, Problems& problems) : schema_(schema), problems_(problems) {}

  void root(const Element& element) {
    if (foreign(element)) return;
    if (element.name != Schema::kRoot)
      return problems_.add(element.where, format("the outermost element is <{}>; it must be <{}>", element.name, Schema::kRoot));
    inside(element, schema_.rule(Schema::kRoot));
  }

 private:
  void inside(const Element& element, const ElementRule& rule) {
    attributes(element, rule);
    if (!element.text.empty())
      problems_.add(element.text_where, format("text '{}' inside <{}>; a configuration has only elements and attributes",
                                               shortened(element.text), element.name));
    std::map<std::string, Location> seen;
    for (const Element& child : element.children) {
      if (problems_.many()) return;
      if (foreign(child)) continue;
      const auto type = rule.child_types.find(child.name);
      if (type == rule.child_types.end()) {
        unknown(element, child, rule);
        continue;
      }
      const auto [first, fresh] = seen.emplace(child.name, child.where);
      if (rule.children_once && !fresh)
        problems_.add(child.where, format("a second <{}> inside <{}>; only one is allowed, the first is at line {}", child.name,
                                          element.name, first->second.line));
      inside(child, schema_.rule(type->second));
    }
  }

  bool foreign(const Element& element) {
    if (element.space.empty()) return false;
    problems_.add(element.where,
                  format("<{}> is in the XML namespace '{}'; the elements of Damaris are in none: remove xmlns=\"...\"",
                         element.name, shortened(element.space)));
    return true;
  }

  void unknown(const Element& parent, const Element& child, const ElementRule& rule) {
    const std::vector<std::string> parents = schema_.parents_of(child.name);
    if (!parents.empty())
      return problems_.add(child.where,
                           format("<{}> is not allowed inside <{}>; it belongs in {}", child.name, parent.name, tags(parents)));
    if (rule.children.empty())
      return problems_.add(child.where,
                           format("<{}> is not known; <{}> holds no elements, only attributes", child.name, parent.name));
    const std::string near = nearest_name(child.name, rule.children);
    problems_.add(child.where, format("<{}> is not known inside <{}>; {}", child.name, parent.name,
                                      near.empty() ? "allowed are " + tags(rule.children) : format("did you mean <{}>?", near)));
  }

  void attributes(const Element& element, const ElementRule& rule) {
    std::vector<std::string> intended;  // required attributes that were probably misspelt
    for (const Attribute& attribute : element.attributes) {
      const AttributeRule* known = rule.attribute(attribute.name);
      if (known == nullptr)
        intended.push_back(unknown(element, attribute, rule));
      else if (!schema_.matches(*known, attribute.value))
        wrong_value(attribute, *known);
    }
    for (const AttributeRule& known : rule.attributes)
      if (known.required && element.find(known.name) == nullptr && std::count(intended.begin(), intended.end(), known.name) == 0)
        problems_.add(element.where, format("<{}> lacks its attribute '{}'", element.name, known.name));
  }

  // Returns the name that was probably intended.
  std::string unknown(const Element& element, const Attribute& attribute, const ElementRule& rule) {
    const std::vector<std::string> names = rule.attribute_names();
    const std::string near = nearest_name(attribute.name, names);
    const std::string hint = names.empty()   ? "it has none"
                             : !near.empty() ? format("did you mean '{}'?", near)
                                             : format("allowed are {}", join(names, ", "));
    problems_.add(attribute.where, format("<{}> has no attribute '{}'; {}", element.name, attribute.name, hint));
    return near;
  }

  void wrong_value(const Attribute& attribute, const AttributeRule& rule) {
    const std::string near = nearest_name(attribute.value, rule.values);
    problems_.add(attribute.value_where, format("{}: it must be {}{}", quoted(attribute), rule.must_be,
                                                near.empty() ? "" : format("; did you mean '{}'?", near)));
  }

  const Schema& schema_;
  Problems& problems_;
};

}  // namespace

void explain(const Document& document, const Schema& schema, Problems& problems) {
  // The parser reports an element only after its attributes: with too many wrong ones reading ends before.
  const bool has_root = !document.root.name.empty();
  if (has_root) Explainer(schema, problems).root(document.root);
  if (!problems.empty()) return;
  for (const SchemaError& error : document.schema_errors) problems.add(error.where, error.sentence);
}

}  // namespace damaris::config
