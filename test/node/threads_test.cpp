// Threads of a client that come and go: whose lane is whose, and what the one that ended leaves to the next.
#include <pthread.h>

#include <array>
#include <atomic>

#include "node.hpp"

namespace damaris::test {
namespace {

model::Model model_with_threads(int threads) {
  model::Model model = node_model();
  model.architecture.threads = threads;
  model.architecture.buffer_timeout_ms = 20'000;
  add_recorder(model);
  return model;
}

template <class Work>
void in_thread(Work&& work) {
  std::thread(std::forward<Work>(work)).join();
}

TEST_CASE("two new threads a step find lanes for as many steps as there are, beside the one that stays") {
  constexpr int kSteps = 200;
  Node node(model_with_threads(3), 1);
  node.start();
  client::Client& client = node.client(0);
  std::atomic<int> failed{0};
  const auto write = [&](std::int64_t step, std::int32_t block) {
    try {
      if (client.write(node.variable(0, "small"), step, block, kFour) != DC_OK) ++failed;
    } catch (const Error&) {
      ++failed;
    }
  };
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::thread first([&] { write(step, 1); }), second([&] { write(step, 2); });
    write(step, 0);
    first.join();
    second.join();
    REQUIRE(client.end_iteration(step).code == DC_OK);
  }
  CHECK(failed == 0);
  CHECK(client.flush(kSteps - 1, 20'000).code == DC_OK);
  node.stop();
  CHECK(node.lines("complete 1 time -1 datasets 3 small:0.0=16:10 small:0.1=16:10 small:0.2=16:10").size() == kSteps);
}

TEST_CASE("a thread that was refused writes as soon as another one has ended") {
  Node node(model_with_threads(2), 1);
  node.start();
  client::Client& client = node.client(0);
  const auto write = [&](std::int32_t block) { return client.write(node.variable(0, "small"), 0, block, kFour); };
  std::atomic<bool> over{false}, ready{false};
  std::thread one([&] {
    (void)write(0);
    ready = true;
    while (!over) std::this_thread::yield();
  });
  while (!ready) std::this_thread::yield();
  in_thread([&] {
    (void)write(1);
    over = true;
    one.join();
    in_thread([&] { (void)write(2); });
  });
  CHECK(write(3) == DC_OK);
  Error refused(DC_OK, "");
  in_thread([&] {
    (void)write(4);
    in_thread([&] { refused = error_of([&] { (void)write(5); }); });
  });
  CHECK(refused.code() == DC_E_THREADS);
  in_thread([&] { (void)write(6); });
  CHECK(client.end_iteration(0).code == DC_OK);
  node.stop();
  REQUIRE(node.lines("step 0").size() == 1);
  CHECK(node.lines("step 0")[0].find("datasets 6 ") != std::string::npos);
}

TEST_CASE("a signal or a time of a thread too many leaves the open step as it is") {
  model::Model model = model_with_threads(2);
  add_event(model, "go", {DC_SCOPE_CORE});
  Node node(model, 1);
  node.start();
  client::Client& client = node.client(0);
  const auto write = [&](std::int32_t block) { return client.write(node.variable(0, "small"), 0, block, kFour); };
  std::atomic<bool> over{false}, ready{false};
  std::thread other([&] {
    (void)write(1);
    ready = true;
    while (!over) std::this_thread::yield();
  });
  while (!ready) std::this_thread::yield();
  CHECK(write(0) == DC_OK);
  in_thread([&] {
    CHECK(error_of([&] { client.signal("go", 1); }).code() == DC_E_THREADS);
    CHECK(error_of([&] { client.set_time(2, 1.5); }).code() == DC_E_THREADS);
  });
  CHECK(write(2) == DC_OK);  // step 0 is open still
  over = true;
  other.join();
  node.stop();
}

TEST_CASE("what an ended thread allocated and did not commit is cancelled at the end of the step, and reported") {
  Node node(model_with_threads(2), 1);
  node.start();
  client::Client& client = node.client(0);
  in_thread([&] {
    void* data = nullptr;
    CHECK(client.alloc(node.variable(0, "small"), 0, 0, &data) == DC_OK);
  });
  in_thread([&] { CHECK(client.write(node.variable(0, "small"), 0, 1, kFour) == DC_OK); });
  CHECK(client.end_iteration(0).code == DC_E_NOT_COMMITTED);
  in_thread([&] { CHECK(client.write(node.variable(0, "small"), 1, 0, kFour) == DC_OK); });
  CHECK(client.end_iteration(1).code == DC_OK);
}

// Destructors of thread_local objects, and of thread-specific data, run when the thread has all but ended.
struct AtEnd {
  std::function<void()> action;
  ~AtEnd() {
    if (action) action();
  }
};
thread_local AtEnd at_end;
std::function<void()>* at_last = nullptr;

TEST_CASE("a thread that writes while it ends keeps no lane either") {
  Node node(model_with_threads(1 + 1), 1);
  node.start();
  client::Client& client = node.client(0);
  std::atomic<int> written{0};
  pthread_key_t key = 0;
  REQUIRE(::pthread_key_create(&key, [](void*) { (*at_last)(); }) == 0);
  for (std::int64_t step = 0; step < 10; ++step) {
    const auto write = [&, step](std::int32_t block) {
      written += client.write(node.variable(0, "small"), step, block, kFour) == DC_OK ? 1 : 0;
    };
    std::function<void()> last = [&] { write(2); };
    at_last = &last;
    in_thread([&] {
      ::pthread_setspecific(key, &node);
      at_end.action = [&] { write(1); };
      write(0);
    });
    CHECK(client.end_iteration(step).code == DC_OK);
  }
  ::pthread_key_delete(key);
  CHECK(written == 30);
}

TEST_CASE("a thread that outlives the client ends in peace, and a thread with two clients has a lane of each") {
  std::atomic<bool> over{false}, wrote{false};
  std::thread late;
  {
    Node node(model_with_threads(2), 2);
    node.start();
    late = std::thread([&] {
      for (int round = 0; round < 5; ++round)
        for (const int id : {0, 1}) CHECK(node.client(id).write(node.variable(id, "small"), 0, round, kFour) == DC_OK);
      wrote = true;
      while (!over) std::this_thread::yield();
    });
    while (!wrote) std::this_thread::yield();
    for (const int id : {0, 1}) CHECK(node.client(id).write(node.variable(id, "small"), 0, 5, kFour) == DC_OK);
    for (const int id : {0, 1}) CHECK(node.client(id).end_iteration(0).code == DC_OK);
    node.stop();
  }
  over = true;
  late.join();
  Node next(model_with_threads(2), 1);
  next.start();
  CHECK(next.client(0).write(next.variable(0, "small"), 0, 0, kFour) == DC_OK);
  CHECK(next.client(0).end_iteration(0).code == DC_OK);
}

}  // namespace
}  // namespace damaris::test
