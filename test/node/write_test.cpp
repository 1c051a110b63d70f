#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "core/shm/doorbell.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

TEST_CASE("what clients write arrives at the plugins with name, source, block and bytes") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model);
  node.start();
  const std::vector<double> vec(100, 0.5);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 3, 0, kFour) == DC_OK);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 3, 2, kFour) == DC_OK);
  REQUIRE(node.client(1).write(node.variable(1, "vec"), 3, 0, vec.data()) == DC_OK);
  node.client(0).set_time(3, 1.5);
  node.client(0).end_iteration(3);
  node.client(1).end_iteration(3);
  node.stop();
  REQUIRE(node.lines("step").size() == 1);
  CHECK(node.lines("step")[0] == "step 3 complete 1 time 1.5 datasets 3 small:0.0=16:10 small:0.2=16:10 vec:1.0=800:50");
  CHECK(node.lines("finalize").size() == 1);
}

TEST_CASE("a variable that is switched off is a notice and costs nothing") {
  Node node(node_model());
  CHECK(node.client(0).write(node.variable(0, "off"), 0, 0, kFour) == DC_N_DISABLED);
  CHECK(node.client(0).status().writes == 0);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
}

TEST_CASE("a variable that is not due in a step is a notice, and is written in the others") {
  model::Model model = node_model();
  model.variables[0].schedule = {3, 1, 8};
  add_recorder(model);
  Node node(model, 1);
  node.start();
  void* data = nullptr;
  for (std::int64_t step = 0; step < 12; ++step) {
    const bool due = step == 1 || step == 4 || step == 7;
    CHECK(node.client(0).write(node.variable(0, "small"), step, 0, kFour) == (due ? DC_OK : DC_N_NOT_DUE));
    CHECK(node.client(0).alloc(node.variable(0, "small"), step, 1, &data) == (due ? DC_OK : DC_N_NOT_DUE));
    std::memcpy(data, kFour, sizeof kFour);
    CHECK(node.client(0).commit(node.variable(0, "small"), step, 1) == (due ? DC_OK : DC_N_NOT_DUE));
    CHECK(node.client(0).end_iteration(step).code == DC_OK);
  }
  node.stop();
  CHECK(node.lines("small:0.0=16:10 small:0.1=16:10").size() == 3);
}

TEST_CASE("alloc of a variable that is switched off gives memory to compute in, and nothing arrives") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  node.start();
  client::Variable& off = node.variable(0, "off");
  void* data = nullptr;
  REQUIRE(node.client(0).alloc(off, 0, 0, &data) == DC_N_DISABLED);
  REQUIRE(data != nullptr);
  std::fill_n(static_cast<int*>(data), 4, 1);
  CHECK(node.client(0).commit(off, 0, 0) == DC_N_DISABLED);
  REQUIRE(node.client(0).alloc(off, 1, 0, &data) == DC_N_DISABLED);  // never committed: nothing to tell either
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  node.stop();
  CHECK(node.lines("off:").empty());
}

TEST_CASE("a section with a halo is copied without the halo, in C order and in Fortran order") {
  model::Model model = node_model();
  add_recorder(model);
  model.layouts[2].fortran_order = GENERATE(false, true);
  Node node(model, 1);
  // A 4x5 array; the interior 2x3 (C) or, listed fastest first, 2 fast x 3 slow (Fortran).
  float array[20];
  std::iota(array, array + 20, 0.0F);
  const std::int64_t extents[2] = {2, 3};
  std::ptrdiff_t strides[2] = {5 * sizeof(float), sizeof(float)};                                  // row-major 4x5
  if (model.layouts[2].fortran_order) strides[0] = sizeof(float), strides[1] = 4 * sizeof(float);  // column-major 4x5
  const float* corner = model.layouts[2].fortran_order ? array + 4 + 1 : array + 5 + 1;
  node.client(0).write(node.variable(0, "tile"), 0, 0, client::Source{corner, DC_FLOAT32, 2, extents, strides});
  const float* block = nullptr;
  for (std::uint64_t offset = node.region().span(0).arena_offset; block == nullptr;)
    block = reinterpret_cast<const float*>(node.region().at(offset + shm::header_bytes({2, shm::kHasGlobal})));
  const std::vector<float> got(block, block + 6);
  if (model.layouts[2].fortran_order)
    CHECK(got == std::vector<float>{5, 6, 9, 10, 13, 14});
  else
    CHECK(got == std::vector<float>{6, 7, 8, 11, 12, 13});
}

TEST_CASE("a wrong type, a wrong shape and a null pointer are refused before anything is reserved") {
  Node node(node_model());
  client::Variable& tile = node.variable(0, "tile");
  const float data[6] = {};
  const std::int64_t wrong[2] = {3, 3};
  const Error type = error_of([&] { node.client(0).write(tile, 0, 0, client::Source{data, DC_FLOAT64}); });
  CHECK(type.code() == DC_E_TYPE);
  CHECK(type.sentence() == "'tile' holds real32 (layout 'tile', node.xml:0), the array holds real64");
  const Error shape = error_of([&] { node.client(0).write(tile, 0, 0, client::Source{data, DC_FLOAT32, 2, wrong}); });
  CHECK(shape.code() == DC_E_SHAPE);
  CHECK(shape.sentence().find("is (2,3) in step 0") != std::string::npos);
  CHECK(shape.sentence().find("the array is (3,3)") != std::string::npos);
  CHECK(error_of([&] { node.client(0).write(tile, 0, 0, client::Source{data, DC_FLOAT32, 1, wrong}); }).code() == DC_E_SHAPE);
  CHECK(error_of([&] { node.client(0).write(tile, 0, 0, nullptr); }).code() == DC_E_ARGUMENT);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
}

TEST_CASE("an array of a wrong shape is refused even after the first write of a step") {
  Node node(node_model());
  client::Variable& tile = node.variable(0, "tile");
  const float data[9] = {};
  const std::int64_t right[2] = {2, 3}, wrong[2] = {3, 3};
  CHECK(node.client(0).write(tile, 0, 0, client::Source{data, DC_FLOAT32, 2, right}) == DC_OK);
  const auto used = node.client(0).status().buffer_used_bytes;
  CHECK(error_of([&] { node.client(0).write(tile, 0, 1, client::Source{data, DC_FLOAT32, 2, wrong}); }).code() == DC_E_SHAPE);
  CHECK(node.client(0).status().buffer_used_bytes == used);
}

TEST_CASE("a second write of the same block is refused, of another block or step it is not") {
  Node node(node_model());
  client::Variable& small = node.variable(0, "small");
  REQUIRE(node.client(0).write(small, 0, 0, kFour) == DC_OK);
  REQUIRE(node.client(0).write(small, 0, 1, kFour) == DC_OK);
  for (const int block : {0, 1}) {
    const Error error = error_of([&] { node.client(0).write(small, 0, block, kFour); });
    CHECK(error.code() == DC_E_DUPLICATE);
    CHECK(error.sentence().find("'small' block " + std::to_string(block) + " was already written in step 0") != std::string::npos);
  }
  CHECK(node.client(0).write(small, 1, 0, kFour) == DC_OK);
  CHECK(node.client(0).write(small, 1, 1, kFour) == DC_OK);
}

TEST_CASE("alloc hands out memory that commit publishes without a copy") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  node.start();
  void* data = nullptr;
  REQUIRE(node.client(0).alloc(node.variable(0, "vec"), 0, 0, &data) == DC_OK);
  CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
  std::fill_n(static_cast<double*>(data), 100, 0.25);
  REQUIRE(node.client(0).commit(node.variable(0, "vec"), 0, 0) == DC_OK);
  const Error again = error_of([&] { node.client(0).commit(node.variable(0, "vec"), 0, 0); });
  CHECK(again.code() == DC_E_NOT_ALLOCATED);
  CHECK(again.sentence().find("commit of 'vec' block 0 in step 0: nothing was allocated") == 0);
  node.stop();
  CHECK(node.lines("vec:0.0=800:25").size() == 1);
}

TEST_CASE("rule 2: an alloc that is never committed is cancelled when its step ends, and reported once") {
  Node node(node_model(), 1);
  node.start();
  void* data = nullptr;
  REQUIRE(node.client(0).alloc(node.variable(0, "vec"), 0, 0, &data) == DC_OK);
  const Status report = node.client(0).end_iteration(0);
  CHECK(report.code == DC_E_NOT_COMMITTED);
  CHECK(report.message.find("'vec' block 0 of step 0") != std::string::npos);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  REQUIRE(node.client(0).alloc(node.variable(0, "vec"), 2, 0, &data) == DC_OK);
  CHECK(node.client(0).finalize().code == DC_E_NOT_COMMITTED);
}

TEST_CASE("a parameter takes the numbers of its type, and no other") {
  model::Model model = node_model();
  model.parameters[0].type = DC_INT32;
  Node node(model, 1);
  client::Shapes& shapes = node.client(0).shapes();
  for (const std::int64_t value : {std::int64_t{2'147'483'648}, std::int64_t{-2'147'483'649}}) {
    const Error error = error_of([&] { shapes.set_parameter("n", value); });
    CHECK(error.code() == DC_E_ARGUMENT);
    CHECK_THAT(error.sentence(), Catch::Contains("cannot hold " + std::to_string(value)));
    CHECK(shapes.parameter("n") == 100);
  }
  for (const std::int64_t value : {std::int64_t{2'147'483'647}, std::int64_t{-2'147'483'648}}) {
    CHECK_NOTHROW(shapes.set_parameter("n", value));
    CHECK(shapes.parameter("n") == value);
  }
}

TEST_CASE("rule 13: a parameter set in the middle of a step counts from the next step on") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  node.start();
  const std::vector<double> vec(200, 1.0);
  client::Client& client = node.client(0);
  client.shapes().set_parameter("n", 10);
  client.write(node.variable(0, "vec"), 0, 0, vec.data());
  client.shapes().set_parameter("n", 200);
  CHECK(client.shapes().parameter("n") == 200);
  client.write(node.variable(0, "vec"), 0, 1, vec.data());
  client.write(node.variable(0, "vec"), 1, 0, vec.data());
  client.end_iteration(1);
  node.stop();
  CHECK(node.lines("step 0")[0].find("vec:0.0=80:10 vec:0.1=80:10") != std::string::npos);
  CHECK(node.lines("step 1")[0].find("vec:0.0=1600:200") != std::string::npos);
}

TEST_CASE("parameters that make no shape are refused at the write and leave the old shape") {
  Node node(node_model(), 1);
  node.client(0).shapes().set_parameter("n", -1);
  const std::vector<double> vec(100, 1.0);
  CHECK(error_of([&] { node.client(0).write(node.variable(0, "vec"), 0, 0, vec.data()); }).code() == DC_E_SHAPE);
  node.client(0).shapes().set_parameter("n", 100);
  CHECK(node.client(0).write(node.variable(0, "vec"), 0, 0, vec.data()) == DC_OK);
  CHECK(error_of([&] { node.client(0).shapes().set_parameter("fixed", 1); }).code() == DC_E_ARGUMENT);
  const Error unknown = error_of([&] { node.client(0).shapes().set_parameter("fixd", 1); });
  CHECK(unknown.code() == DC_E_UNKNOWN_NAME);
  CHECK(unknown.sentence() == "no parameter 'fixd' in node.xml; did you mean 'fixed'?");
}

TEST_CASE("an explicit shape wins over parameters until it is taken back; zero extents are allowed") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  node.start();
  const std::vector<double> vec(100, 1.0);
  const std::int64_t none[1] = {0};
  const std::int64_t three[1] = {3};
  client::Client& client = node.client(0);
  client.shapes().set_shape("vec", 1, none);
  client.write(node.variable(0, "vec"), 0, 0, nullptr);
  client.shapes().set_shape("vector", 1, three);
  client.write(node.variable(0, "vec"), 1, 0, vec.data());
  client.shapes().set_parameter("n", 50);
  client.shapes().set_shape("vec", 0, nullptr);
  client.write(node.variable(0, "vec"), 2, 0, vec.data());
  client.end_iteration(2);
  node.stop();
  CHECK(node.lines("vec:0.0=0:0").size() == 1);
  CHECK(node.lines("vec:0.0=24:3").size() == 1);
  CHECK(node.lines("vec:0.0=400:50").size() == 1);
}

TEST_CASE("shapes and positions of wrong rank, negative, or of unknown names are refused") {
  Node node(node_model(), 1);
  client::Shapes& shapes = node.client(0).shapes();
  const std::int64_t list[2] = {-1, 2};
  CHECK(error_of([&] { shapes.set_shape("tile", 1, list); }).code() == DC_E_SHAPE);
  CHECK(error_of([&] { shapes.set_shape("tile", 2, list); }).code() == DC_E_SHAPE);
  CHECK(error_of([&] { shapes.set_position("tile", 2, list); }).code() == DC_E_SHAPE);
  const Error error = error_of([&] { shapes.set_position("tiles", 2, list); });
  CHECK(error.code() == DC_E_UNKNOWN_NAME);
  CHECK(error.sentence().find("did you mean 'tile'?") != std::string::npos);
}

TEST_CASE("a block that reaches beyond its global array is refused before anything is reserved") {
  Node node(node_model(), 1);
  const float tile[6] = {};
  const auto write_at = [&](std::int64_t row) {
    const std::int64_t position[2] = {row, 0};
    node.client(0).shapes().set_position("tile", 2, position);
    (void)node.client(0).write(node.variable(0, "tile"), 0, static_cast<std::int32_t>(row % 7), tile);
  };
  write_at(2);
  const Error error = error_of([&] { write_at(3); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK(error.sentence().find("'tile' has 2 elements at offset 3 of dimension 1, beyond the 4 of its global array") == 0);
  CHECK(error_of([&] { write_at(std::numeric_limits<std::int64_t>::max() - 1); }).code() == DC_E_SHAPE);
  CHECK(node.client(0).status().writes == 1);
}

TEST_CASE("a block whose end no number can name is refused by the write, not by the server") {
  Node node(node_model(), 1);
  const std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const auto write_at = [&](std::int64_t position, std::int32_t block) {
    node.client(0).shapes().set_position("small", 1, &position);
    return node.client(0).write(node.variable(0, "small"), 0, block, kFour);
  };
  CHECK(write_at(last - 4, 0) == DC_OK);
  const Error error = error_of([&] { (void)write_at(last - 3, 1); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK_THAT(error.sentence(), Catch::StartsWith("'small' has 4 elements at offset 9223372036854775804 of dimension 1: its end"));
  while (node.server().poll()) {
  }
  CHECK(node.server().first_failure().code == DC_OK);
}

TEST_CASE("a call that is refused whatever the step opens no step and cancels nothing") {
  Node node(node_model(), 1);
  void* data = nullptr;
  REQUIRE(node.client(0).alloc(node.variable(0, "small"), 5, 0, &data) == DC_OK);
  CHECK(error_of([&] { (void)node.client(0).write(node.variable(0, "vec"), 1000, 0, nullptr); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { (void)node.client(0).write(node.variable(0, "small"), 1000, -1, kFour); }).code() == DC_E_ARGUMENT);
  const client::Source reals = {kFour, DC_FLOAT64, 0, nullptr, nullptr};
  CHECK(error_of([&] { (void)node.client(0).write(node.variable(0, "small"), 1000, 0, reals); }).code() == DC_E_TYPE);
  CHECK(node.client(0).commit(node.variable(0, "small"), 5, 0) == DC_OK);
}

TEST_CASE("a physical time that is not a number is refused") {
  Node node(node_model(), 1);
  for (const double time : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Error error = error_of([&] { node.client(0).set_time(0, time); });
    CHECK(error.code() == DC_E_ARGUMENT);
    CHECK(error.sentence().find("give a finite number") != std::string::npos);
  }
  node.client(0).set_time(0, 1.5);
}

TEST_CASE("negative steps are refused by every call, before and after a step") {
  Node node(node_model(), 1);
  void* data = nullptr;
  const std::vector<std::function<void()>> calls = {
      [&] { (void)node.client(0).write(node.variable(0, "small"), -1, 0, kFour); },
      [&] { (void)node.client(0).write(node.variable(0, "small"), -2, 0, kFour); },
      [&] { (void)node.client(0).alloc(node.variable(0, "small"), -1, 0, &data); },
      [&] { node.client(0).set_time(-1, 0.5); },
      [&] { (void)node.client(0).end_iteration(-1); },
  };
  for (const bool ended : {false, true}) {
    for (const auto& call : calls) {
      const Error error = error_of(call);
      CHECK(error.code() == DC_E_ARGUMENT);
      CHECK(error.sentence().find(" is negative; steps count from 0") != std::string::npos);
    }
    if (!ended) CHECK(node.client(0).end_iteration(0).code == DC_OK);
  }
}

TEST_CASE("steps that a sum would overflow are refused") {
  Node node(node_model(), 1);
  constexpr std::int64_t kHighest = std::int64_t{1} << 62;
  CHECK(error_of([&] { (void)node.client(0).end_iteration(kHighest + 1); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { (void)node.client(0).write(node.variable(0, "small"), kHighest + 1, 0, kFour); }).code() == DC_E_ARGUMENT);
  CHECK(node.client(0).write(node.variable(0, "small"), kHighest, 0, kFour) == DC_OK);
}

TEST_CASE("rule 14: threads that write and look at the status at once lose nothing") {
  constexpr int kThreads = 2, kSteps = 200;
  model::Model model = node_model();
  model.architecture.threads = kThreads;
  model.architecture.buffer_timeout_ms = 20'000;
  model.architecture.buffer_bytes = 64 * 1024;
  Node node(model, 1);
  node.start();
  std::atomic<int> arrived{0};
  const auto meet = [&](int times) {
    ++arrived;
    while (arrived < times * kThreads) std::this_thread::yield();
  };
  const auto work = [&](bool ends) {
    const std::vector<double> vec(100);
    for (int step = 0; step < kSteps; ++step) {
      for (int block = 0; block < 5; ++block) {
        CHECK(node.client(0).write(node.variable(0, "vec"), step, block + (ends ? 0 : 5), vec.data()) == DC_OK);
        (void)node.client(0).status();
      }
      meet(2 * step + 1);
      if (ends) CHECK(node.client(0).end_iteration(step).code == DC_OK);
      meet(2 * step + 2);
    }
  };
  std::thread other([&] { work(false); });
  work(true);
  other.join();
  CHECK(node.client(0).flush(kSteps - 1, 20'000).code == DC_OK);
  CHECK(node.client(0).status().writes == kThreads * kSteps * 5);
}

TEST_CASE("rule 14: with threads, each thread has a lane and an arena, and the end of a step covers all of them") {
  constexpr int kThreads = 4;
  model::Model model = node_model();
  model.architecture.threads = kThreads;
  add_recorder(model);
  Node node(model, 1);
  node.start();
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      (void)node.client(0).write(node.variable(0, "small"), 0, thread, kFour);
      while (!over) std::this_thread::yield();
    });
  const auto all_wrote = [&] { return node.client(0).status().writes == kThreads; };
  while (!all_wrote()) std::this_thread::yield();
  const Error refused = error_of([&] { (void)node.client(0).write(node.variable(0, "small"), 0, kThreads, kFour); });
  CHECK(refused.code() == DC_E_THREADS);
  CHECK(refused.sentence().find("more than 4 live threads have called Damaris") == 0);
  over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  node.stop();
  CHECK(node.lines("step 0")[0] ==
        "step 0 complete 1 time -1 datasets 4 small:0.0=16:10 small:0.1=16:10 small:0.2=16:10 small:0.3=16:10");
}

}  // namespace
}  // namespace damaris::test
