// Builds the model from the validated tree: what the builders of the individual sections share.
// Used by: parse, one thread, at start-up.
// Before it: the tree, validated against the schema. After it: model::Model, semantically checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/xml_tree.hpp"
#include "core/model/model.hpp"

namespace damaris::config {

struct Build {
  const Element& root;
  model::Model& model;
  Problems& problems;
  std::vector<const Element*> flat;  // children of root, of <data> and of <actions>, in file order

  std::vector<const Element*> all(const std::string& name) const;
  // The element of that name, or nullptr. Reports a problem for each further one.
  const Element* only(const std::string& name) const;
};

Build start_build(const Element& root, model::Model& model, Problems& problems);

// Each fills its part of the model. Call them in this order: later ones look up names that earlier ones declared.
void build_architecture(Build& build);
void build_log(Build& build);
void build_parameters(Build& build);
void build_types(Build& build);
void build_layouts(Build& build);
void build_variables(Build& build);
void build_storage(Build& build);
void build_actions(Build& build);
// Checks across sections. Call last, and only if no problem was found so far.
void check_model(Build& build);

// ---- Helpers of the builders.

// The declared names of one kind: looks them up and rejects duplicates.
class DeclaredNames {
 public:
  // Returns false and reports a problem if `name` is already declared.
  bool add(Build& build, const std::string& kind, const std::string& name, Location where, int index);
  int find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct Entry {
    Location where;
    int index;
  };
  std::map<std::string, Entry> entries_;
};

// An item of a list-valued attribute, with its offset in the value.
struct TextPart {
  std::string text;  // without surrounding blanks
  std::size_t at = 0;
};
std::vector<TextPart> split(const std::string& value, char separator, std::size_t at = 0);

// Parses `piece` of `attribute`. Reports a problem and returns nothing for a malformed expression or an undeclared parameter.
std::optional<model::Expression> expression(Build& build, const Attribute& attribute, const TextPart& piece,
                                            const std::vector<std::string>& parameters);

// The integer in `attribute`. Reports a problem and returns `lowest` if it is outside lowest..highest.
std::int64_t number(Build& build, const Attribute& attribute, std::int64_t lowest, std::int64_t highest);

// The duration in `attribute`, from `lowest_ms` to 24 days (so that it fits into 32 bits). Units: milliseconds.
std::int64_t duration(Build& build, const Attribute& attribute, std::int64_t lowest_ms);

std::vector<std::string> parameter_names(const model::Model& model);

// Reports a problem and returns true if `count` exceeds the limit `most` of the model.
bool too_many(Build& build, const Element& element, const char* what, std::size_t count, std::size_t most);

// ---- <plugin> elements, which occur among the actions and in the storage.

model::Plugin table_plugin(Build& build, const Element& element);

// `using`, or its older name `library`; nullptr if neither is given. Reports a problem if both are.
const Attribute* library_attribute(Build& build, const Element& element);

// ---- `reduce`: the precision to which values are stored, and their compression.

// Reports a problem for each invalid stage; the result is meaningless then.
dc_reduction_t reduction(Build& build, const Attribute& attribute);

// Reports a problem if `reduction`, which `attribute` gives `variable`, changes values and its type is not a real.
void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable, const dc_reduction_t& reduction);

// ---- Element types, built-in and compound.

std::optional<dc_type> builtin_type(const std::string& name);
bool is_integer(dc_type type);

// The end of a message about an unknown type: "; did you mean 'x'?" (x may be a synonym or one of `more`), else a list of all
// types without synonyms.
std::string type_hint(const std::string& wrong, const std::vector<std::string>& more = {});
std::string integer_type_hint(const std::string& wrong);

}  // namespace damaris::config
