// After an error nothing of the call has taken effect: every error of every call that one process can bring about, in place. Around each
// the visible state is the same, the open step is still open, and what is written next goes where it was to go.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

const char* const kXml =
    "<simulation name='after_error'><architecture><dedicated cores='0'/><buffer size='1MiB'/></architecture><data>"
    "<parameter name='n' type='int' value='4'/><parameter name='twice' type='int' value='2*n' /><parameter name='m' type='int' "
    "value='1'/><parameter name='fixed' type='short' value='4' constant='true'/><parameter name='small' type='short' value='1'/>"
    "<layout name='row' type='int' dimensions='n'/><layout name='big' type='double' dimensions='m'/>"
    "<layout name='tile' type='int' dimensions='6,6' global='10,10' ghost='1:1,1:1'/>"
    "<variable name='line' layout='row'/><variable name='huge' layout='big'/><variable name='placed' layout='tile'/>"
    "<variable name='beyond' layout='tile'/><variable name='off' layout='row' enabled='false'/>"
    "</data><actions><event name='tick'/></actions></simulation>";

constexpr std::int64_t kOpen = 5;  // 4 has ended
const int kData[1024] = {};

// All that a program can see without changing it, as numbers in a row.
std::vector<std::int64_t> look() {
  dc_status_t status;
  REQUIRE(dc_status(&status) == DC_OK);
  std::vector<std::int64_t> seen = {status.last_complete, status.last_durable, status.first_error};
  // Not events_waiting, which the server lessens meanwhile, nor waits: a write that is refused for lack of room may have waited.
  for (const std::uint64_t count : {status.buffer_used_bytes, status.largest_hole_bytes, status.writes, status.skipped,
                                    status.dropped, status.reduced_steps, status.spilled_bytes})
    seen.push_back(static_cast<std::int64_t>(count));
  for (const char* parameter : {"n", "twice", "m", "small"}) {
    REQUIRE(dc_get_parameter(parameter, &seen.emplace_back()) == DC_OK);
  }
  for (const char* variable : {"line", "huge", "placed", "beyond"}) {
    dc_layout_t one;
    REQUIRE(dc_get_layout(variable, &one) == DC_OK);
    seen.insert(seen.end(), one.extents, one.extents + one.ndims);
    seen.push_back(static_cast<std::int64_t>(one.bytes));
  }
  return seen;
}

struct NotStorable {
  const char* call;
  int code;
  std::function<int()> make;
};

void* data = nullptr;
dc_layout_t layout;
dc_variable_t* handle = nullptr;
std::int64_t number = 7;
int values[36];
const std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();

std::int64_t* list(std::initializer_list<std::int64_t> items) {
  static std::int64_t lists[64][3];
  static std::size_t next = 0;
  std::int64_t* own = lists[next++ % 64];
  std::copy(items.begin(), items.end(), own);
  return own;
}

// In a step that has writes, or a later one: `at` is the step that a refused write names.
std::vector<NotStorable> refused_writes(std::int64_t at) {
  return {
      {"dc_write: null name", DC_E_ARGUMENT, [=] { return dc_write(nullptr, at, kData); }},
      {"dc_write: unknown name", DC_E_UNKNOWN_NAME, [=] { return dc_write("lime", at, kData); }},
      {"dc_write: null data", DC_E_ARGUMENT, [=] { return dc_write("line", at, nullptr); }},
      {"dc_write: negative step", DC_E_ARGUMENT, [=] { return dc_write("line", -1, kData); }},
      {"dc_write: step too high", DC_E_ARGUMENT, [=] { return dc_write("line", kTooMany, kData); }},
      {"dc_write: ended step", DC_E_BACKWARD, [=] { return dc_write("line", 4, kData); }},
      {"dc_write: outside the global array", DC_E_SHAPE, [=] { return dc_write("beyond", at, kData); }},
      {"dc_write: larger than the buffer", DC_E_TOO_LARGE, [=] { return dc_write("huge", at, kData); }},
      {"dc_write_block: negative block", DC_E_ARGUMENT, [=] { return dc_write_block("line", at, -1, kData); }},
      {"dc_write_typed: type", DC_E_TYPE, [=] { return dc_write_typed("line", at, 0, DC_FLOAT32, kData, 0, nullptr, nullptr); }},
      {"dc_write_typed: dimensions", DC_E_SHAPE,
       [=] {
         return dc_write_typed("placed", at, 1, DC_INT32, kData, 3, list({6, 6, 1}), nullptr);
       }},
      {"dc_write_typed: extents", DC_E_SHAPE,
       [=] {
         return dc_write_typed("placed", at, 1, DC_INT32, kData, 2, list({6, 5}), nullptr);
       }},
      {"dc_write_typed: elements", DC_E_SHAPE,
       [=] { return dc_write_typed("line", at, 1, DC_INT32, kData, 1, list({1000}), nullptr); }},
      {"dc_write_typed: null data", DC_E_ARGUMENT,
       [=] { return dc_write_typed("line", at, 1, DC_INT32, nullptr, 0, nullptr, nullptr); }},
      {"dc_write_to: foreign handle", DC_E_ARGUMENT, [=] { return dc_write_to(nullptr, at, kData); }},
      {"dc_write_to: null data", DC_E_ARGUMENT, [=] { return dc_write_to(handle, at, nullptr); }},
      {"dc_write_to_typed: type", DC_E_TYPE, [=] { return dc_write_to_typed(handle, at, 1, DC_INT8, kData, 0, nullptr, nullptr); }},
      {"dc_write_to_typed: extents", DC_E_SHAPE,
       [=] { return dc_write_to_typed(handle, at, 1, DC_INT32, kData, 1, list({999}), nullptr); }},
      {"dc_alloc: unknown name", DC_E_UNKNOWN_NAME, [=] { return dc_alloc("lime", at, 1, &data); }},
      {"dc_alloc: null place", DC_E_ARGUMENT, [=] { return dc_alloc("line", at, 1, nullptr); }},
      {"dc_alloc: negative block", DC_E_ARGUMENT, [=] { return dc_alloc("line", at, -1, &data); }},
      {"dc_alloc: ended step", DC_E_BACKWARD, [=] { return dc_alloc("line", 4, 1, &data); }},
      {"dc_alloc: outside the global array", DC_E_SHAPE, [=] { return dc_alloc("beyond", at, 1, &data); }},
      {"dc_alloc: larger than the buffer", DC_E_TOO_LARGE, [=] { return dc_alloc("huge", at, 1, &data); }},
      {"dc_alloc_typed: type", DC_E_TYPE, [=] { return dc_alloc_typed("line", at, 1, DC_FLOAT64, &layout, &data); }},
      {"dc_alloc_typed: null layout", DC_E_ARGUMENT, [=] { return dc_alloc_typed("line", at, 1, DC_INT32, nullptr, &data); }},
      {"dc_alloc_typed: larger than the buffer", DC_E_TOO_LARGE,
       [=] { return dc_alloc_typed("huge", at, 1, DC_FLOAT64, &layout, &data); }},
      {"dc_commit: nothing allocated", DC_E_NOT_ALLOCATED, [=] { return dc_commit("line", at, 1); }},
      {"dc_commit: unknown name", DC_E_UNKNOWN_NAME, [=] { return dc_commit("lime", at, 1); }},
      {"dc_signal: unknown name", DC_E_UNKNOWN_NAME, [=] { return dc_signal("tock", at); }},
      {"dc_signal: null name", DC_E_ARGUMENT, [=] { return dc_signal(nullptr, at); }},
      {"dc_signal: ended step", DC_E_BACKWARD, [=] { return dc_signal("tick", 3); }},
      {"dc_set_time: not finite", DC_E_ARGUMENT, [=] { return dc_set_time(at, std::nan("")); }},
      {"dc_set_time: ended step", DC_E_BACKWARD, [=] { return dc_set_time(3, 1.0); }},
  };
}

std::vector<NotStorable> refused_others() {
  return {
      {"dc_initialize: twice", DC_E_ALREADY_INITIALIZED, [] { return dc_initialize("other.xml", 3); }},
      {"dc_initialize: null path", DC_E_ARGUMENT, [] { return dc_initialize(nullptr, 3); }},
      {"dc_variable: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_variable("lime", &handle); }},
      {"dc_variable: null place", DC_E_ARGUMENT, [] { return dc_variable("line", nullptr); }},
      {"dc_read: no storage", DC_E_CONFIG, [] { return dc_read("placed", 0, values); }},
      {"dc_read: negative step", DC_E_ARGUMENT, [] { return dc_read("placed", -1, values); }},
      {"dc_read: null data", DC_E_ARGUMENT, [] { return dc_read("placed", 0, nullptr); }},
      {"dc_read: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_read("lime", 0, values); }},
      {"dc_read: larger than the buffer, no storage", DC_E_CONFIG, [] { return dc_read("huge", 0, values); }},
      {"dc_read_block: negative block", DC_E_ARGUMENT, [] { return dc_read_block("placed", 0, -1, values); }},
      {"dc_read_typed: type", DC_E_TYPE, [] { return dc_read_typed("placed", 0, 0, DC_FLOAT32, values, 0, nullptr, nullptr); }},
      {"dc_read_typed: extents", DC_E_SHAPE,
       [] {
         return dc_read_typed("placed", 0, 0, DC_INT32, values, 2, list({5, 6}), nullptr);
       }},
      {"dc_last_step: no storage", DC_E_CONFIG, [] { return dc_last_step("placed", &number); }},
      {"dc_last_step: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_last_step("lime", &number); }},
      {"dc_last_step: null place", DC_E_ARGUMENT, [] { return dc_last_step("placed", nullptr); }},
      {"dc_end_iteration: negative", DC_E_ARGUMENT, [] { return dc_end_iteration(-1); }},
      {"dc_end_iteration: too high", DC_E_ARGUMENT, [] { return dc_end_iteration(kTooMany); }},
      {"dc_end_iteration: ended step", DC_E_BACKWARD, [] { return dc_end_iteration(4); }},
      {"dc_flush: not ended", DC_E_NOT_ENDED, [] { return dc_flush(kOpen, 10); }},
      {"dc_flush: negative time-out", DC_E_ARGUMENT, [] { return dc_flush(4, -1); }},
      {"dc_status: null place", DC_E_ARGUMENT, [] { return dc_status(nullptr); }},
      {"dc_set_parameter: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_set_parameter("q", 1); }},
      {"dc_set_parameter: null name", DC_E_ARGUMENT, [] { return dc_set_parameter(nullptr, 1); }},
      {"dc_set_parameter: constant", DC_E_ARGUMENT, [] { return dc_set_parameter("fixed", 1); }},
      {"dc_set_parameter: computed", DC_E_ARGUMENT, [] { return dc_set_parameter("twice", 1); }},
      {"dc_set_parameter: out of range", DC_E_ARGUMENT, [] { return dc_set_parameter("small", 40000); }},
      {"dc_set_parameter: what follows is out of range", DC_E_ARGUMENT, [] { return dc_set_parameter("n", 2000000000); }},
      {"dc_get_parameter: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_get_parameter("q", &number); }},
      {"dc_get_parameter: null place", DC_E_ARGUMENT, [] { return dc_get_parameter("n", nullptr); }},
      {"dc_set_shape: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_set_shape("lime", 1, list({1})); }},
      {"dc_set_shape: null list", DC_E_ARGUMENT, [] { return dc_set_shape("tile", 2, nullptr); }},
      {"dc_set_shape: dimensions", DC_E_SHAPE, [] { return dc_set_shape("tile", 1, list({8})); }},
      {"dc_set_shape: negative dimensions", DC_E_SHAPE, [] { return dc_set_shape("tile", -1, list({8})); }},
      {"dc_set_shape: a later extent negative", DC_E_SHAPE,
       [] {
         return dc_set_shape("tile", 2, list({8, -1}));
       }},
      {"dc_set_shape: less than the ghost zones", DC_E_SHAPE,
       [] {
         return dc_set_shape("tile", 2, list({8, 1}));
       }},
      {"dc_set_shape: too many bytes", DC_E_SHAPE,
       [] {
         return dc_set_shape("tile", 2, list({kTooMany, 8}));
       }},
      {"dc_set_position: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_set_position("lime", 1, list({1})); }},
      {"dc_set_position: null list", DC_E_ARGUMENT, [] { return dc_set_position("tile", 2, nullptr); }},
      {"dc_set_position: dimensions", DC_E_SHAPE, [] { return dc_set_position("placed", 1, list({9})); }},
      {"dc_set_position: a later offset negative", DC_E_SHAPE,
       [] {
         return dc_set_position("placed", 2, list({9, -1}));
       }},
      {"dc_set_position: the same for a layout", DC_E_SHAPE,
       [] {
         return dc_set_position("tile", 2, list({9, -1}));
       }},
      {"dc_get_layout: unknown name", DC_E_UNKNOWN_NAME, [] { return dc_get_layout("lime", &layout); }},
      {"dc_get_layout: null place", DC_E_ARGUMENT, [] { return dc_get_layout("line", nullptr); }},
  };
}

// A session whose step 4 has ended; `placed` fits its global array, `beyond` does not, `huge` is larger than the buffer.
struct InPlace {
  InPlace() {
    REQUIRE(dc_initialize(folder.write("after_error.xml", kXml).c_str(), 0) == DC_OK);
    REQUIRE(dc_variable("line", &handle) == DC_OK);
    REQUIRE(dc_set_position("placed", 2, list({2, 3})) == DC_OK);
    REQUIRE(dc_set_position("beyond", 2, list({8, 3})) == DC_OK);
    REQUIRE(dc_set_parameter("m", 1 << 20) == DC_OK);
    REQUIRE(dc_write("line", 4, kData) == DC_OK);
    REQUIRE(dc_end_iteration(4) == DC_OK);
    number = 7;
    layout = {};
    std::memset(values, 7, sizeof values);
  }
  ~InPlace() { CHECK(dc_finalize() == DC_OK); }
  TempFolder folder;
};

void check_outputs() {
  CHECK(number == 7);
  CHECK(layout.bytes == 0);
  for (const int value : values) CHECK(value == 0x07070707);
  CHECK(handle != nullptr);
}

TEST_CASE("after every error of every call the state is the same, and the step that was open takes more") {
  const InPlace session;
  const std::int64_t at = GENERATE(as<std::int64_t>{}, kOpen, kOpen + 4);
  REQUIRE(dc_write("line", kOpen, kData) == DC_OK);
  std::vector<NotStorable> table = refused_writes(at);
  for (const NotStorable& other : refused_others()) table.push_back(other);
  table.push_back({"dc_write: twice", DC_E_DUPLICATE, [] { return dc_write("line", kOpen, kData); }});
  table.push_back({"dc_alloc: twice", DC_E_DUPLICATE, [] { return dc_alloc("line", kOpen, 0, &data); }});
  table.push_back({"dc_end_iteration: below the open step", DC_E_BACKWARD, [] { return dc_end_iteration(3); }});
  int block = 0;
  for (const NotStorable& refused : table) {
    INFO(refused.call);
    const auto before = look();
    CHECK(refused.make() == refused.code);
    CHECK(look() == before);
    CHECK(dc_write_block("placed", kOpen, block++, kData) == DC_OK);
  }
  check_outputs();
  CHECK(dc_end_iteration(kOpen) == DC_OK);
}

TEST_CASE("a refused write does not begin its step: parameters still take effect in it") {
  const InPlace session;
  const std::int64_t at = GENERATE(as<std::int64_t>{}, kOpen, kOpen + 4);
  REQUIRE(dc_set_time(kOpen, 1.0) == DC_OK);
  int n = 4;
  for (const NotStorable& refused : refused_writes(at)) {
    INFO(refused.call);
    const auto before = look();
    CHECK(refused.make() == refused.code);
    CHECK(look() == before);
    REQUIRE(dc_set_parameter("n", ++n) == DC_OK);
    REQUIRE(dc_get_layout("line", &layout) == DC_OK);
    CHECK(layout.extents[0] == n);
    layout = {};
    CHECK(dc_set_time(kOpen, 2.0) == DC_OK);
  }
  check_outputs();
  CHECK(dc_write("line", kOpen, kData) == DC_OK);
  CHECK(dc_end_iteration(kOpen) == DC_OK);
}

TEST_CASE("parameters that make no sense are refused by the write that would begin a step with them, which it does not") {
  const InPlace session;
  REQUIRE(dc_write("line", kOpen, kData) == DC_OK);
  REQUIRE(dc_set_parameter("n", -3) == DC_OK);
  const auto call = GENERATE(0, 1, 2);
  const auto make = [&] {
    if (call == 0) return dc_write("line", kOpen + 1, kData);
    return dc_alloc(call == 1 ? "line" : "off", kOpen + 1, 0, &data);
  };
  CHECK(make() == DC_E_SHAPE);
  CHECK(dc_write_block("line", kOpen, 1, kData) == DC_OK);
  REQUIRE(dc_set_parameter("n", 3) == DC_OK);
  CHECK(make() >= DC_OK);
  if (call == 1) CHECK(dc_commit("line", kOpen + 1, 0) == DC_OK);
}

TEST_CASE("a step that is too large for the buffer keeps what it had, and its other writes are as before") {
  const InPlace session;
  REQUIRE(dc_set_parameter("m", 1 << 14) == DC_OK);
  int blocks = 0, code = DC_OK;
  while ((code = dc_write_block("huge", kOpen, blocks, std::vector<double>(1 << 14).data())) == DC_OK) ++blocks;
  CHECK(code == DC_E_ITERATION_TOO_LARGE);
  const auto before = look();
  CHECK(dc_alloc("huge", kOpen, blocks, &data) == DC_E_ITERATION_TOO_LARGE);
  CHECK(look() == before);
  CHECK(dc_write("line", kOpen, kData) == DC_OK);
}

}  // namespace
