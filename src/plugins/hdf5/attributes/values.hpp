// Parsers for attributes of <hdf5> with a grammar: the list of filters, the hints for MPI-IO, and the basename.
// Used by: config, at start-up and in `damaris check`, and the plugin's settings. Needs neither HDF5 nor Xerces-C.
// Before it: the text of an attribute. After it: a problem with its location in the XML, or the parsed value.
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
  std::size_t at;       // byte offset in the text
  std::string why;      // with the remedy
  std::string unknown;  // the unknown filter's name; empty: another problem
};
using Wrong = std::function<void(const FilterProblem&)>;

// Parses "shuffle, deflate:LEVEL"; an empty text means no filters. Calls `wrong` for each invalid word, and skips it.
std::vector<Filter> parse_filters(const std::string& text, const Wrong& wrong);

struct Hint {
  std::string name, value;
};
using WrongHint = std::function<void(std::size_t at, const std::string& why)>;

// Parses "romio_cb_write=enable; cb_nodes=4"; an empty text means no hints. Calls `wrong` with the byte offset and the reason, with the
// remedy, for each invalid one, and skips it.
std::vector<Hint> parse_hints(const std::string& text, const WrongHint& wrong);

// Why `value` is invalid as a basename, with the remedy; "" if it is valid.
std::string basename_problem(const std::string& value);

}  // namespace damaris::hdf5
