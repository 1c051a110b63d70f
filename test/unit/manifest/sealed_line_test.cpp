// Lines that show when they have changed, or are not where they were added.
#include "manifest/sealed_line.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/json.hpp"

using namespace damaris;
using namespace damaris::manifest;

namespace {

using Lines = std::vector<std::string>;

Lines five_lines() {
  Lines lines;
  for (int k = 0; k < 5; ++k)
    lines.push_back(
        manifest::sealed(damaris::Json{{"step", k}, {"files", {k}}}.dump(), lines.empty() ? "" : manifest::seal_of(lines.back())));
  return lines;
}

// How many of the lines are not as they were added.
int objections(const Lines& lines) {
  manifest::SealedLines seals;
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return seals.check(line) != manifest::SealedLines::Verdict::fine;
  }));
}

}  // namespace

TEST_CASE("a sealed line is still the JSON that it was, with its seal at the end") {
  const Lines lines = five_lines();
  const damaris::Json json = damaris::Json::parse(lines[1]);
  CHECK(json["step"] == 1);
  CHECK(json["after"] == manifest::seal_of(lines[0]));
  CHECK(json["crc32"] == manifest::seal_of(lines[1]));
  CHECK_FALSE(damaris::Json::parse(lines[0]).contains("after"));
  CHECK(manifest::seal_of(lines[1].substr(lines[1].size() - manifest::kSealBytes)) == manifest::seal_of(lines[1]));
  CHECK(objections(lines) == 0);
}

TEST_CASE("each changed bit of a line is detected") {
  const Lines lines = five_lines();
  const std::size_t number = GENERATE(0U, 1U, 4U);
  for (std::size_t bit = 0; bit < 8 * lines[number].size(); ++bit) {
    Lines changed = lines;
    char& byte = changed[number][bit / 8];
    byte = static_cast<char>(byte ^ 1 << bit % 8);
    if (objections(changed) == 0) FAIL_CHECK("bit " << bit << " of line " << number << ": " << changed[number]);
  }
}

TEST_CASE("lines that are removed, repeated or exchanged are detected, except at the end") {
  const Lines lines = five_lines();
  for (std::size_t k = 0; k + 1 < lines.size(); ++k) {
    Lines without = lines, twice = lines, exchanged = lines;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(k));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(k), lines[k]);
    std::swap(exchanged[k], exchanged[k + 1]);
    INFO("line " << k);
    CHECK((k == 0 || objections(without) > 0));
    CHECK(objections(twice) > 0);
    CHECK(objections(exchanged) > 0);
  }
  manifest::SealedLines beheaded;
  CHECK(beheaded.check(lines[1]) == manifest::SealedLines::Verdict::fine);
  CHECK(beheaded.begins_in_the_middle());
}

TEST_CASE("lines without a seal are counted as long as none with one has come, and are damage after it") {
  const Lines lines = five_lines();
  manifest::SealedLines seals;
  for (const char* line : {"{\"step\":0}", "no JSON"}) CHECK(seals.check(line) == manifest::SealedLines::Verdict::fine);
  CHECK(seals.uncovered() == 2);
  CHECK(seals.check(lines[0]) == manifest::SealedLines::Verdict::fine);
  CHECK_FALSE(seals.begins_in_the_middle());
  CHECK(seals.check("{\"step\":0}") == manifest::SealedLines::Verdict::changed);
  CHECK(seals.uncovered() == 2);
}

TEST_CASE("a line nested deeper than a step's is rejected, with or without its seal: reading it would need as deep a stack") {
  const std::string deep = "{\"step\":" + std::string(1000, '[') + std::string(1000, ']') + "}";
  CHECK(objections({manifest::sealed(deep, "")}) == 1);
  CHECK(objections({deep}) == 1);
  CHECK_FALSE(manifest::is_trustworthy(manifest::sealed(deep, "")));
  CHECK(manifest::is_trustworthy(manifest::sealed("{\"text\":\"" + std::string(1000, '[') + "\\\"[\"}", "")));
}
