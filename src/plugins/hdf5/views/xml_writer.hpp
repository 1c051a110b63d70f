// Text of an XML document: indented, escaped, every element closed.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: xdmf.cpp says what stands in it. After it: the file.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace damaris::hdf5 {

class XmlWriter {
 public:
  using Attributes = std::vector<std::pair<const char*, std::string>>;

  XmlWriter() : text_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") {}

  // Elements that `inside` adds stand in the element.
  template <class Inside>
  void element(const char* name, const Attributes& attributes, Inside&& inside) {
    begin(name, attributes, ">\n");
    ++depth_;
    inside();
    --depth_;
    text_ += indent() + "</" + name + ">\n";
  }
  void leaf(const char* name, const Attributes& attributes, const std::string& content) {
    begin(name, attributes, ">");
    text_ += escaped(content) + "</" + name + ">\n";
  }
  void empty(const char* name, const Attributes& attributes) { begin(name, attributes, "/>\n"); }

  const std::string& text() const { return text_; }

 private:
  static std::string escaped(const std::string& raw) {
    std::string safe;
    for (const char c : raw) switch (c) {
        case '&':
          safe += "&amp;";
          break;
        case '<':
          safe += "&lt;";
          break;
        case '>':
          safe += "&gt;";
          break;
        case '"':
          safe += "&quot;";
          break;
        default:
          safe += c;
      }
    return safe;
  }
  std::string indent() const { return std::string(2 * depth_, ' '); }
  void begin(const char* name, const Attributes& attributes, const char* end) {
    text_ += indent() + "<" + name;
    for (const auto& [key, value] : attributes) text_ += std::string(" ") + key + "=\"" + escaped(value) + "\"";
    text_ += end;
  }

  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace damaris::hdf5
