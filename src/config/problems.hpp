// The errors found so far, each with its location; they are reported together, in file order.
// Used by: the process that reads the configuration, one thread, at start-up.
// Before it: a builder or the reader detects an error. After it: Error(DC_E_CONFIG).
#pragma once

#include <string>
#include <vector>

#include "config/xml_tree.hpp"

namespace damaris::config {

class Problems {
 public:
  explicit Problems(std::string path) : path_(std::move(path)) {}

  void add(Location where, std::string sentence);
  bool empty() const noexcept { return list_.empty(); }
  std::size_t size() const noexcept { return list_.size(); }
  // There are so many problems that the rest of the file need not be checked.
  bool many() const noexcept { return list_.size() > 1000; }
  // Throws Error(DC_E_CONFIG) with the first 20 problems, one per line, if there are any.
  void throw_if_any();

 private:
  struct Problem {
    Location where;
    std::string sentence;
  };
  std::string path_;
  std::vector<Problem> list_;
};

}  // namespace damaris::config
