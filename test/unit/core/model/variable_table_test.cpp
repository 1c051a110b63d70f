// The table of the variables: the names that it finds, and what it makes of damaged bytes.
#include "core/model/variable_table.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <set>

#include "core/model/names.hpp"
#include "support/errors.hpp"
#include "unit/core/model/example_model.hpp"

using namespace damaris::model;
using Catch::Matchers::Contains;
using damaris::test::error_of;
using damaris::test::example_model;

namespace {

constexpr std::size_t kHeader = 64, kEntry = 64;  // as variable_table.hpp describes them
constexpr std::size_t kLayoutAt = 0, kScheduleAt = 8, kLengthAt = 12, kBareAt = 16, kOnFullAt = 20, kNameAt = 24;

// On the heap, in exactly as many bytes, so that the sanitizers see a read beyond them.
class Table {
 public:
  explicit Table(const Model& model) : Table(variable_table_of(model), model.layouts.size()) {}
  Table(const std::string& bytes, std::size_t layouts) : bytes_(new char[bytes.size()]), size_(bytes.size()), layouts_(layouts) {
    bytes.copy(bytes_.get(), size_);
  }
  VariableTable view() const { return {{bytes_.get(), size_}, layouts_}; }
  std::string refusal() const {
    const auto error = error_of([this] { view(); });
    REQUIRE(error.code() == DC_E_CONFIG);
    return error.sentence();
  }
  std::size_t size() const { return size_; }
  char* entry(std::size_t id) { return bytes_.get() + kHeader + id * kEntry; }
  char* at(std::size_t offset) { return bytes_.get() + offset; }
  template <class Value>
  Table& put(char* place, Value value) {
    std::memcpy(place, &value, sizeof value);
    return *this;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_, layouts_;
};

Model model_of(const std::vector<std::pair<std::string, std::string>>& groups_and_names) {
  Model model = example_model();
  model.variables.clear();
  for (const auto& [group, name] : groups_and_names)
    model.variables.push_back(damaris::test::variable(static_cast<std::uint32_t>(model.variables.size()), group, name, 1));
  return model;
}

// Every name and some that are none, from each place that a program may have reached, as VariableNames does.
void require_same_as_names(const Model& model, std::uint32_t guesses) {
  const Table table(model);
  const VariableTable view = table.view();
  const VariableNames names(model);
  std::set<std::string> asked = {"", "/", "none", "air", "air/", std::string(300, 'x')};
  for (const Variable& v : model.variables) asked.insert({v.name, v.path, v.path + "x", v.path.substr(1), "x" + v.name});
  int wrong = 0;
  for (const std::string& name : asked) {
    wrong += view.find(name) != names.find(name) ? 1 : 0;
    for (std::uint32_t guess = 0; guess < guesses; ++guess) wrong += view.find(name, guess) != names.find(name) ? 1 : 0;
  }
  CHECK(wrong == 0);
  for (std::uint32_t id = 0; id < view.size(); ++id)
    if (view.path(id) != model.variables[id].path) FAIL("the path of " << id << " is " << view.path(id));
}

}  // namespace

TEST_CASE("a table finds each variable by its path, and by its bare name where that is unique") {
  require_same_as_names(example_model(), 6);
  require_same_as_names(model_of({{"", "t"}, {"sea/", "t"}, {"air/", "t"}, {"air/", "u"}, {"air/low/", "v"}}), 6);
}

TEST_CASE("a path wins over an equal bare name, also where the program has guessed the variable of the bare name") {
  require_same_as_names(model_of({{"sea/", "t"}, {"", "t"}}), 3);
}

TEST_CASE("names of any length are found") {
  std::vector<std::pair<std::string, std::string>> names;
  for (std::size_t length = 1; length <= 100; ++length) {
    names.emplace_back("", std::string(length, 'a'));
    names.emplace_back("group/", std::string(length, 'b'));
    names.emplace_back(std::string(length, 'c') + "/", "a_bare_name" + std::to_string(length));
  }
  require_same_as_names(model_of(names), 301);
}

TEST_CASE("10 000 variables are found, the ones of 100 groups with equal bare names by path only") {
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 0; i < 10'000; ++i)
    names.emplace_back("group" + std::to_string(i % 100) + "/",
                       (i % 2 == 0 ? "v" : "same") + std::to_string(i % 2 == 0 ? i : i / 100));
  require_same_as_names(model_of(names), 2);
}

TEST_CASE("a table without variables finds nothing") {
  const Model model = model_of({});
  const Table table(model);
  CHECK(table.view().size() == 0);
  CHECK(table.view().find("") == VariableTable::kNone);
  CHECK(table.view().find("t", 0) == VariableTable::kNone);
  CHECK(VariableTable().find("t") == VariableTable::kNone);
  CHECK_FALSE(table.view().may_omit());
}

TEST_CASE("a table says of each variable what a client needs") {
  Model model = example_model();
  model.variables[1].priority = -3;
  model.variables[1].on_full = OnFull::skip;
  model.variables[3].schedule = {5, 10, 100};
  const Table table(model);
  const VariableTable view = table.view();
  CHECK(view.may_omit());
  CHECK(view.at(0).enabled);
  CHECK_FALSE(view.at(2).enabled);
  CHECK(view.at(2).layout == 1);
  CHECK(view.at(1).priority == -3);
  CHECK(view.at(1).on_full == OnFull::skip);
  CHECK(view.at(1).schedule.always());
  CHECK(view.at(3).schedule.every == 5);
  CHECK(view.at(3).schedule.from == 10);
  CHECK(view.at(3).schedule.until == 100);
}

TEST_CASE("a table that is cut anywhere is refused") {
  const std::string whole = variable_table_of(model_of({{"", "t"}, {"group/", std::string(60, 'b')}}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THAT(Table(whole.substr(0, length), 3).refusal(), Contains("its table of variables"));
}

TEST_CASE("each damaged value of a table is refused, with what is wrong") {
  Model model = model_of({{"", "t"}, {"group/", std::string(60, 'b')}});
  model.variables[0].schedule.every = 2;
  Table table(model);
  const std::size_t places = kHeader + 2 * kEntry, schedules = places + 8 * 8;
  const std::uint32_t far = 0xfffffff0;
  CHECK_NOTHROW(table.view());
  CHECK_THAT(table.put(table.at(0), far).refusal(), Contains("is not of this version"));
  table = Table(model);
  CHECK_THAT(table.put(table.at(8), far).refusal(), Contains("bytes, less than"));
  table = Table(model);
  CHECK_THAT(table.put(table.at(12), far).refusal(), Contains("bytes, less than"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(1) + kLayoutAt, std::uint32_t{3}).refusal(), Contains("gives variable 1 the layout 3 of 3"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(1) + kScheduleAt, std::uint32_t{2}).refusal(), Contains("gives variable 1 the schedule 2 of 1"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(1) + kLengthAt, far).refusal(), Contains("gives variable 1 a name outside it"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(1) + kLengthAt, std::uint32_t{67}).refusal(), Contains("gives variable 1 a name outside it"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(0) + kBareAt, std::uint32_t{2}).refusal(), Contains("gives variable 0 a name outside it"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(1) + kNameAt, far).refusal(), Contains("gives variable 1 a name outside it"));
  table = Table(model);
  CHECK_THAT(table.put(table.entry(0) + kOnFullAt, std::uint8_t{3}).refusal(), Contains("gives variable 0 an unknown on-full, 3"));
  table = Table(model);
  CHECK_THAT(table.put(table.at(places + 4), std::uint32_t{3}).refusal(), Contains("has a name of variable 2 of 2"));
  table = Table(model);
  for (std::size_t place = 0; place < 8; ++place) table.put(table.at(places + 8 * place + 4), std::uint32_t{1});
  CHECK_THAT(table.refusal(), Contains("has no unused place"));
  table = Table(model);
  CHECK_THAT(table.put(table.at(schedules), std::int64_t{0}).refusal(), Contains("has variable 0 due every 0 steps"));
}

TEST_CASE("a table that is overwritten after it was checked is never read outside") {
  const Model model = model_of({{"", "t"}, {"group/", std::string(60, 'b')}, {"", "u"}});
  for (const int byte : {0x00, 0x01, 0x29, 0x7f, 0xff}) {
    Table table(model);
    const VariableTable view = table.view();
    std::memset(table.at(0), byte, table.size());
    for (const Variable& v : model.variables)
      for (const std::uint32_t guess : {0u, 1u, 2u, 3u, ~0u}) CHECK(view.find(v.path, guess) == VariableTable::kNone);
    for (std::uint32_t id = 0; id < view.size(); ++id) {
      CHECK(view.path(id).size() <= table.size());
      if (byte != 0 && byte != 1) CHECK(error_of([&] { view.at(id); }).code() == DC_E_CONFIG);
    }
  }
}
