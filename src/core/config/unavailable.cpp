#include "core/base/format.hpp"
#include "core/config/build.hpp"

namespace damaris::config {
namespace {

struct Missing {
  const char* element;
  const char* attribute;
  const char* value;
  const char* instead;
};

// What the schema knows and this version does not do yet. To lift one, remove its line.
constexpr Missing kMissing[] = {
    {"buffer", "stale", "recover", "use refuse or discard"},
};

}  // namespace

void check_available(Build& build, const Element& element) {
  for (const Missing& missing : kMissing) {
    if (element.name != missing.element) continue;
    const Attribute* attribute = element.find(missing.attribute);
    if (attribute != nullptr && attribute->value == missing.value)
      build.problems.add(attribute->value_where,
                         format("{} is not available in this version; {}", quoted(*attribute), missing.instead));
  }
  for (const Element& child : element.children) check_available(build, child);
}

}  // namespace damaris::config
