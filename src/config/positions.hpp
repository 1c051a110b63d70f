// Maps the parser's position (just after a start tag) to the locations that messages name: the '<' and each attribute in the raw
// text.
// Used by: xml_reader, one thread, at start-up.
// Before it: the text of the XML. After it: the locations in the tree.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/xml_tree.hpp"

namespace damaris::config {

class Positions {
 public:
  // `text` must outlive this object. Columns count UTF-16 units, as the parser and editors do, or bytes if the text is not UTF-8.
  explicit Positions(std::string_view text);

  // The '<' of the tag that ends just before `end`.
  std::size_t tag(Location end) const;
  // Line and column of `offset`.
  Location location(std::size_t offset) const;
  // Sets the locations, `given` and `plain` of `attribute` in the tag that starts at `tag`.
  void locate(std::size_t tag, Attribute& attribute) const;
  // The start of the text between two tags that ends just before `end`, or npos if there are only blanks.
  std::size_t text_before(Location end) const;
  // From `offset` to the next blank or tag, at most 40 bytes.
  std::string word(std::size_t offset) const;
  // The first byte that is not UTF-8, or npos.
  std::size_t not_utf8() const noexcept { return not_utf8_; }

 private:
  std::size_t offset(Location where) const;
  std::size_t units(char c) const;  // by which a byte advances the column: 0 for a UTF-8 continuation byte
  std::size_t units_before(std::size_t offset) const;

  std::string_view text_;
  std::size_t not_utf8_;
  std::vector<std::size_t> lines_;  // offset of the first byte of each line
  std::vector<std::size_t> marks_;  // units before every kStride-th byte: a file may be one line of megabytes
};

}  // namespace damaris::config
