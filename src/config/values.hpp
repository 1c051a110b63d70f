// Values of attributes: lists, expressions, numbers, durations, reductions.
// Used by: the builders of the model, one thread, at start-up.
// Before it: an attribute that the schema allows. After it: its value; a problem at its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/build.hpp"

namespace damaris::config {

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

// `reduce`: the precision to which values are stored, and their compression. Reports a problem for each invalid stage; the result is
// meaningless then.
dc_reduction_t reduction(Build& build, const Attribute& attribute);

// Reports a problem if `reduction`, which `attribute` gives `variable`, changes values and its type is not a real.
void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable, const dc_reduction_t& reduction);

}  // namespace damaris::config
