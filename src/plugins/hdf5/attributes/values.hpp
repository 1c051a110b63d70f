// The values of <hdf5> that have a grammar of their own: the list of filters, and the start of file names.
// Used by: config, at start-up and in `damaris check`, and the plugin's settings. Needs neither HDF5 nor Xerces-C.
// Before it: the text of an attribute. After it: a problem at a place of the XML, or what the plugin writes with.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace damaris::hdf5 {

struct Filter {
  enum Kind { shuffle, deflate } kind;
  unsigned level;  // of deflate, 0 to 9
};

struct FilterProblem {
  std::size_t at;       // byte of the text
  std::string why;      // with the remedy
  std::string unknown;  // the name that no filter has; empty: it is something else
};
using Wrong = std::function<void(const FilterProblem&)>;

// The filters of "shuffle, deflate:LEVEL"; an empty text means none. Calls `wrong` for each word that is none, and leaves it out.
std::vector<Filter> parse_filters(const std::string& text, const Wrong& wrong);

// Why no file's name can begin with the basename `value`, with the remedy; "": it can.
std::string basename_problem(const std::string& value);

}  // namespace damaris::hdf5
