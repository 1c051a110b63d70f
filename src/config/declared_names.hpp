// Names that an XML declares: each kind of thing has its own.
// Used by: the builders of the model, one thread, at start-up.
// Before it: an element with a name. After it: the index of what it names; a problem for a duplicate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/build.hpp"

namespace damaris::config {

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

}  // namespace damaris::config
