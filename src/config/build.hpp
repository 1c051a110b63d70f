// From the valid tree to the model: what the builders of the single sections share.
// Used by: parse, one thread, at start-up.
// Before it: the tree, valid by the schema. After it: model::Model, checked by meaning.
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
  std::vector<const Element*> flat;  // children of root, of <data> and of <actions>, in the order of the file

  std::vector<const Element*> all(const std::string& name) const;
  // The element of that name, or nullptr; a second one is a problem.
  const Element* only(const std::string& name) const;
};

Build start_build(const Element& root, model::Model& model, Problems& problems);

// Each fills its part of the model; in this order, as later ones look up what earlier ones declared.
void build_architecture(Build& build);
void build_log(Build& build);
void build_parameters(Build& build);
void build_types(Build& build);
void build_layouts(Build& build);
void build_variables(Build& build);
void build_storage(Build& build);
void build_actions(Build& build);
// After the others, and only without problems so far: what no part sees alone.
void check_whole(Build& build);

// ---- Helpers of the builders.

// What was declared under which name, to find it again and to refuse it twice.
class Declared {
 public:
  // Returns false, and adds a problem, when `name` stands there already.
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

// A piece of an attribute that lists things, with its place in the value.
struct TextPart {
  std::string text;  // without blanks around it
  std::size_t at = 0;
};
std::vector<TextPart> split(const std::string& value, char separator, std::size_t at = 0);

// The expression in `piece` of `attribute`; a problem and nothing when it is none, or uses a parameter that is not declared.
std::optional<model::Expression> expression(Build& build, const Attribute& attribute, const TextPart& piece,
                                            const std::vector<std::string>& parameters);

// The whole number of `attribute`, or a problem and `lowest` when it is outside lowest..highest.
std::int64_t number(Build& build, const Attribute& attribute, std::int64_t lowest, std::int64_t highest);

// The milliseconds of `attribute`; at least `lowest_ms`, at most 24 days (so that they fit into 32 bits).
std::int64_t duration(Build& build, const Attribute& attribute, std::int64_t lowest_ms);

std::vector<std::string> parameter_names(const model::Model& model);

// Adds a problem when `count` things of a kind are more than the model may have.
bool too_many(Build& build, const Element& element, const char* what, std::size_t count, std::size_t most);

// ---- <plugin> elements, which stand among the actions and in the storage.

model::Plugin table_plugin(Build& build, const Element& element);

// `using`, or `library`, its older name; nullptr when neither is given. Both at once are a problem.
const Attribute* library_attribute(Build& build, const Element& element);

// ---- `reduce`: how exact the values of a variable stay and how they are compressed.

// A problem for each stage that is none; what is left then means nothing.
dc_reduction_t reduction(Build& build, const Attribute& attribute);

// A problem when `variable`, which has this reduction from `attribute`, holds no reals but is to be changed.
void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable);

// ---- Element types, built-in and compound.

std::optional<dc_type> builtin_type(const std::string& name);
bool is_integer(dc_type type);

// Which types there are, for a message: "; did you mean 'x'?" (synonyms and `more` count too), else the list of all, each once.
std::string type_hint(const std::string& wrong, const std::vector<std::string>& more = {});
std::string integer_type_hint(const std::string& wrong);

}  // namespace damaris::config
