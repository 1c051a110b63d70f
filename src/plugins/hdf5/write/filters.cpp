#include "filters.hpp"

#include <damaris/error.hpp>

namespace damaris::hdf5 {
namespace {

constexpr unsigned kDefaultLevel = 6;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(DC_E_CONFIG, "filters=\"" + text + "\": " + why + "; known are shuffle and deflate:LEVEL with a level of 0 to 9 (" +
                               std::to_string(kDefaultLevel) + " if not given), in this order, separated by commas");
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    words.push_back(trimmed(text.substr(begin, end - begin)));
  }
  return words;
}

Filter parse_filter(const std::string& text, const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const std::string level = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (name == "shuffle" && colon == std::string::npos) return {Filter::shuffle, 0};
  if (name != "deflate") refuse(text, "there is no filter '" + word + "'");
  if (colon == std::string::npos) return {Filter::deflate, kDefaultLevel};
  if (level.size() != 1 || level[0] < '0' || level[0] > '9') refuse(text, "'" + level + "' is no level of deflate");
  return {Filter::deflate, static_cast<unsigned>(level[0] - '0')};
}

void check_available(const std::string& text, const Filter& filter) {
  const H5Z_filter_t id = filter.kind == Filter::shuffle ? H5Z_FILTER_SHUFFLE : H5Z_FILTER_DEFLATE;
  if (H5Zfilter_avail(id) <= 0) refuse(text, "the HDF5 library of this plugin was built without one of these filters");
}

}  // namespace

std::vector<Filter> parse_filters(const std::string& text) {
  std::vector<Filter> filters;
  if (trimmed(text).empty()) return filters;
  for (const std::string& word : split(text)) {
    const Filter filter = parse_filter(text, word);
    check_available(text, filter);
    // Shuffled after deflate the bytes would not compress, twice is never meant.
    if (!filters.empty() && filters.back().kind >= filter.kind) refuse(text, "'" + word + "' stands at the wrong place");
    filters.push_back(filter);
  }
  return filters;
}

void add_filters(const Properties& dataset, const std::vector<Filter>& filters) {
  for (const Filter& filter : filters) {
    if (filter.kind == Filter::shuffle) checked(H5Pset_shuffle(dataset.id()), "set the shuffle filter");
    if (filter.kind == Filter::deflate) checked(H5Pset_deflate(dataset.id(), filter.level), "set the deflate filter");
  }
}

}  // namespace damaris::hdf5
