#include "core/model/json.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.hpp"
#include "core/base/json.hpp"
#include "support/errors.hpp"
#include "support/peak_memory.hpp"
#include "unit/core/model/example_model.hpp"

using namespace damaris::model;
using Catch::Matchers::Contains;
using damaris::Json;
using damaris::test::error_of;
using damaris::test::example_model;

namespace {

// The example's compiled form with one value replaced.
std::string damaged(const std::string& pointer, const Json& value) {
  Json j = Json::parse(to_json(example_model()));
  j[Json::json_pointer(pointer)] = value;
  return j.dump();
}

std::string refusal(const std::string& text) {
  const auto error = error_of([&] { from_json(text); });
  REQUIRE(error.code() == DC_E_CONFIG);
  return error.sentence();
}

}  // namespace

TEST_CASE("rule 6: a model is unchanged after the way through its compiled form") {
  const Model model = example_model();
  const Model back = from_json(to_json(model));
  REQUIRE(to_json(back) == to_json(model));
  REQUIRE(back.simulation == "storm");
  REQUIRE(back.variables[0].description == model.variables[0].description);
  REQUIRE(back.variables[0].coordinates == std::vector<std::uint32_t>{1, 2});
  REQUIRE(back.variables[2].enabled == false);
  REQUIRE(back.variables[3].store == false);
  REQUIRE(back.compounds[0].fields[1].offset_bytes == 24);
  REQUIRE(back.layouts[0].fortran_order);
  REQUIRE(back.events[0].actions[0].scope == DC_SCOPE_CORE);
  REQUIRE(back.events[0].actions[0].on_root);
  REQUIRE(back.plugins[0].settings == model.plugins[0].settings);
  REQUIRE(back.architecture.weights == std::vector<std::int64_t>{3, 1});
  REQUIRE(back.architecture.stale == StalePolicy::discard);
  REQUIRE(back.log.file == "storm.log");
  REQUIRE(back.variables[0].where.line == 11);
}

// Also an attaching client of another build of this version reads it.
TEST_CASE("the text of a model is that of its version") {
  REQUIRE(damaris::digest(to_json(example_model())) == 0x0f8bcf3146febbb0);
}

TEST_CASE("a compiled model that lacks a member is refused") {
  const Json whole = Json::parse(to_json(example_model()));
  const Json leaves = whole.flatten();
  int erased = 0;
  for (const auto& [path, value] : leaves.items()) {
    for (Json::json_pointer at(path); !at.empty(); at.pop_back()) {
      if (!whole[at.parent_pointer()].is_object()) continue;
      Json lacking = whole;
      lacking[at.parent_pointer()].erase(at.back());
      CAPTURE(at.to_string());
      REQUIRE_FALSE(refusal(lacking.dump()).empty());
      ++erased;
    }
  }
  REQUIRE(erased > 200);
}

TEST_CASE("rule 6: a model is unchanged after the way through its two parts, of which clients read the first") {
  const Model model = example_model();
  const JsonParts parts = to_json_parts(model);
  REQUIRE(to_json(from_json({parts.frame, parts.rest})) == to_json(model));
  const Frame frame = frame_from_json(parts.frame);
  REQUIRE(frame.simulation == "storm");
  REQUIRE(frame.events[1].name == "quiet");
  REQUIRE(frame.layouts[2].name == "particle");
  REQUIRE(resolve(frame, frame.layouts[0], {9, 5, 18}).bytes == resolve(model, model.layouts[0], {9, 5, 18}).bytes);
}

TEST_CASE("the part that clients read does not grow with the variables") {
  Model model = example_model();
  const std::size_t few = to_json_parts(model).frame.size();
  for (std::uint32_t id = 4; id < 1000; ++id) model.variables.push_back(damaris::test::variable(id, "", "v", 0));
  REQUIRE(to_json_parts(model).frame.size() == few);
}

TEST_CASE("a part of a model is refused in the place of the other") {
  const JsonParts parts = to_json_parts(example_model());
  REQUIRE(error_of([&] { frame_from_json(parts.rest); }).code() == DC_E_CONFIG);
  REQUIRE(error_of([&] { from_json({parts.frame, parts.frame}); }).code() == DC_E_CONFIG);
  REQUIRE(error_of([&] { from_json({parts.frame, ""}); }).code() == DC_E_CONFIG);
}

TEST_CASE("a model whose XML or working folder has a name that is not UTF-8 is refused, with that name") {
  const std::string odd = "/tmp/\xff\xfe/caf\xe9\xc3\xa9/x";
  for (std::string Model::*path : {&Model::file, &Model::folder}) {
    Model model = example_model();
    model.*path = odd;
    const auto error = error_of([&] { to_json_parts(model); });
    CHECK(error.code() == DC_E_CONFIG);
    CHECK_THAT(error.what(), Contains("'" + odd + "'") && Contains("is not UTF-8"));
  }
}

TEST_CASE("rule 6: layouts of the compiled form resolve as those of the XML") {
  const Model model = example_model();
  const Model back = from_json(to_json(model));
  for (std::size_t i = 0; i < model.layouts.size(); ++i)
    REQUIRE(resolve(back, back.layouts[i], {9, 5, 18}).bytes == resolve(model, model.layouts[i], {9, 5, 18}).bytes);
}

TEST_CASE("what is not a compiled model is refused with a message") {
  for (const char* text : {"", "{", "[]", "{}", "null", "{\"damaris_model\":999}", "{\"variables\":[{}],\"damaris_model\":999}"})
    REQUIRE_THAT(refusal(text), Contains("the compiled model cannot be used"));
  REQUIRE_THAT(refusal("{\"damaris_model\":999}"), Contains("not of this version"));
  const std::string whole = to_json(example_model());
  REQUIRE_THAT(refusal(whole.substr(0, whole.size() / 2)), Contains("the compiled model cannot be used"));
}

// The example's compiled form with so many variables, made without a tree of them.
std::string with_variables(int count) {
  Json one = Json::parse(to_json(example_model()));
  Json variable = one["variables"][0];
  variable["coordinates"] = Json::array();
  one["variables"] = Json::array();
  std::string text = one.dump(), all;
  for (int id = 0; id < count; ++id) {
    variable["id"] = id;
    all += (id > 0 ? "," : "") + variable.dump();
  }
  const std::string empty = "\"variables\":[";
  return text.insert(text.find(empty) + empty.size(), all);
}

TEST_CASE("reading a compiled model needs little more memory than the model") {
  constexpr int kCount = 20'000;
  REQUIRE(from_json(with_variables(3)).variables.size() == 3);
  if (!damaris::test::kMemoryIsOurs) return;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = with_variables(kCount);
    const std::uint64_t before = damaris::test::peak_bytes();
    const Model model = from_json(text);
    // A variable takes half a KiB, and growing the list once more that; its tree took 3 KiB.
    const std::uint64_t allowed = std::uint64_t{kCount} * 1536;
    ::_exit(model.variables.size() == kCount && damaris::test::peak_bytes() - before < allowed ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a damaged compiled model never gives an index outside its lists") {
  REQUIRE_THAT(refusal(damaged("/variables/0/layout", 7)), Contains("layout 7 does not exist"));
  REQUIRE_THAT(refusal(damaged("/variables/0/coordinates/0", 7)), Contains("variable 7 does not exist"));
  REQUIRE_THAT(refusal(damaged("/variables/1", 3)), Contains("its variables are no list of objects"));
  REQUIRE_THAT(refusal(damaged("/variables", Json::object())), Contains("its variables are no list of objects"));
  REQUIRE_THAT(refusal(damaged("/variables/1/id", 0)), Contains("a variable's id is not its index"));
  REQUIRE_THAT(refusal(damaged("/events/0/id", 1)), Contains("an event's id is not its index"));
  REQUIRE_THAT(refusal(damaged("/layouts/2/compound", -1)), Contains("compound -1 does not exist"));
  REQUIRE_THAT(refusal(damaged("/layouts/1/type", 99)), Contains("99 is not a known enumerator"));
  REQUIRE_THAT(refusal(damaged("/layouts/1/dimensions", Json::array())), Contains("has 0 dimensions"));
  REQUIRE_THAT(refusal(damaged("/layouts/0/global", Json::array({"1"}))), Contains("has 1 global extents"));
  REQUIRE_THAT(refusal(damaged("/layouts/1/dimensions/0", "1+")), Contains("expected a number"));
  REQUIRE_THAT(refusal(damaged("/events/0/actions/0/plugin", 5)), Contains("plugin 5 does not exist"));
  REQUIRE_THAT(refusal(damaged("/layouts/1/element_bytes", 0)), Contains("has elements without bytes"));
}

TEST_CASE("a number that does not fit is refused, not cut off") {
  REQUIRE_THAT(refusal(damaged("/variables/0/layout", 1e300)), Contains("does not fit"));
  REQUIRE_THAT(refusal(damaged("/variables/0/coordinates/0", std::int64_t{1} << 32)), Contains("does not fit"));
  REQUIRE_THAT(refusal(damaged("/architecture/threads", std::int64_t{1} << 40)), Contains("does not fit"));
  REQUIRE_THAT(refusal(damaged("/architecture/lane_messages", -1)), Contains("does not fit"));
}
