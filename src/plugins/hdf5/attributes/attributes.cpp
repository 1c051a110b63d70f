#include "attributes.hpp"

#include "core/base/text.hpp"

namespace damaris::hdf5 {
namespace {

constexpr unsigned kUsualLevel = 6;

struct Word {
  std::string text;  // without the blanks around it
  std::size_t at;
};

Word trimmed(const std::string& text, std::size_t at) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {"", at};
  return {text.substr(begin, text.find_last_not_of(" \t") - begin + 1), at + begin};
}

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> words;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    words.push_back(trimmed(text.substr(begin, end - begin), begin));
  }
  return words;
}

bool is_level(const std::string& text) { return text.size() == 1 && text[0] >= '0' && text[0] <= '9'; }

// Adds the filter of one word. Rejects shuffle after deflate, as the bytes would not compress, and repeated filters.
void add_filter(const Word& word, std::vector<Filter>& filters, const Wrong& wrong) {
  const std::size_t colon = word.text.find(':');
  const Word name = trimmed(word.text.substr(0, colon), word.at);
  if (name.text != "shuffle" && name.text != "deflate")
    return wrong({name.at, "no filter '" + name.text + "'; known are shuffle and deflate:LEVEL", name.text});
  const Filter::Kind kind = name.text == "shuffle" ? Filter::shuffle : Filter::deflate;
  for (const Filter& before : filters)
    if (before.kind == kind) return wrong({name.at, "'" + name.text + "' is given twice", ""});
  unsigned level = kUsualLevel;
  if (colon != std::string::npos) {
    const Word given = trimmed(word.text.substr(colon + 1), word.at + colon + 1);
    if (kind == Filter::shuffle) return wrong({given.at, "shuffle takes no level", ""});
    if (!is_level(given.text)) return wrong({given.at, "the level of deflate must be 0 to 9", ""});
    level = static_cast<unsigned>(given.text[0] - '0');
  }
  if (kind == Filter::shuffle && !filters.empty()) return wrong({name.at, "shuffle must precede deflate", ""});
  filters.push_back({kind, kind == Filter::deflate ? level : 0});
}

}  // namespace

std::vector<Filter> parse_filters(const std::string& text, const Wrong& wrong) {
  std::vector<Filter> filters;
  if (trimmed(text, 0).text.empty()) return filters;
  for (const Word& word : words_of(text)) add_filter(word, filters, wrong);
  return filters;
}

std::string basename_problem(const std::string& value) {
  const std::string last = value.substr(value.rfind('/') + 1);
  if (last.empty() || last == "." || last == "..")
    return "it ends in '" + (last.empty() ? "/" : last) + "'; add the start of the file names";
  // The manifest names the files in JSON.
  return find_not_utf8(last) == std::string::npos ? "" : "it is not UTF-8; choose another name";
}

}  // namespace damaris::hdf5
