// The errors found so far, each with its place: all are reported together, in the order of the file.
// Used by: the process that reads the configuration, one thread, at start-up.
// Before it: a builder or the reader finds something wrong. After it: Error(DC_E_CONFIG).
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
  // So many that reading on finds nothing new.
  bool many() const noexcept { return list_.size() > 1000; }
  // Throws Error(DC_E_CONFIG) with the first 20 problems, one a line, when there are any.
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
