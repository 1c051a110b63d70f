#include "config/xml_tree.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::config {

const Attribute* Element::find(const std::string& attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

const std::string& Element::value(const std::string& attribute) const {
  const Attribute* found = find(attribute);
  if (found == nullptr) throw Error(DC_E_INTERNAL, format("the schema lets <{}> pass without its attribute '{}'", name, attribute));
  return found->value;
}

std::string Element::value_or_empty(const std::string& attribute) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? "" : found->value;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "...";
}

std::string quoted(const Attribute& attribute) { return format("{}=\"{}\"", attribute.name, shortened(attribute.value)); }

Location inside(const Attribute& attribute, std::size_t index) {
  if (!attribute.plain) return attribute.value_where;
  return {attribute.value_where.line, attribute.value_where.column + static_cast<int>(index)};
}

}  // namespace damaris::config
