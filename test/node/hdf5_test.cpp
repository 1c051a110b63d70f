// Both threads of a server with the real storage and its compressing threads: what one run spills and stores, the next one reads while it
// stores. For the thread sanitizer above all.
#include <numeric>

#include "node.hpp"

namespace damaris::test {
namespace {

constexpr int kClients = 2, kSteps = 3;
constexpr std::int64_t kValues = 4 << 20;  // 32 MiB a client: a step is stored in several calls, and the buffer does not hold two

model::Model storing_model(const TempFolder& folder, const std::string& run, const std::string& restart = "") {
  model::Model model = node_model();
  model.parameters[0].value = kValues;
  model.parameters[0].expression = model::Expression::constant(kValues);
  model.architecture.buffer_bytes = 96 << 20;
  model.architecture.buffer_timeout_ms = 60'000;
  model.architecture.finalize_timeout_ms = 120'000;
  model.architecture.spill = folder.path();
  model.architecture.spill_bytes = std::uint64_t{1} << 30;
  model.variables[1].reduce = "deflate:1";
  model.variables[1].reduction.codec = DC_CODEC_DEFLATE;
  model.variables[1].reduction.level = 1;
  model::Plugin storage;
  storage.name = "hdf5";
  storage.library = "damaris_hdf5.so";
  storage.storage = true;
  storage.settings = {{"basename", folder.file(run)}, {"threads", "3"}};
  if (!restart.empty()) storage.settings.emplace_back("restart", folder.file(restart));
  model.plugins.push_back(storage);
  return model;
}

std::vector<double> values_of(int client, std::int64_t step) {
  std::vector<double> values(static_cast<std::size_t>(kValues));
  std::iota(values.begin(), values.end(), static_cast<double>(1000 * client + step));
  return values;
}

// Each client on a thread of its own; returns how many calls have failed.
template <class Work>
int failures_of(Node& node, Work&& work) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < kClients; ++id)
    threads.emplace_back([&, id] {
      try {
        for (std::int64_t step = 0; step < kSteps; ++step) work(id, step, failures);
        failures += node.client(id).flush(kSteps - 1, 120'000).code != DC_OK;
      } catch (const Error&) {
        ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failures;
}

void write_step(Node& node, int id, std::int64_t step, std::atomic<int>& failures) {
  failures += node.client(id).write(node.variable(id, "vec"), step, 0, values_of(id, step).data()) != DC_OK;
  failures += node.client(id).end_iteration(step).code != DC_OK;
}

}  // namespace

TEST_CASE("large steps are spilled, compressed by several threads and stored, and read by a run that stores as much itself") {
  const TempFolder folder;
  {
    Node first(storing_model(folder, "first"), kClients);
    first.start();
    CHECK(failures_of(first, [&](int id, std::int64_t step, auto& failures) { write_step(first, id, step, failures); }) == 0);
    CHECK(first.stop().code == DC_OK);
  }
  Node second(storing_model(folder, "second", "first"), kClients);
  second.start();
  const auto write_and_read = [&](int id, std::int64_t step, std::atomic<int>& failures) {
    write_step(second, id, step, failures);
    std::vector<double> back(static_cast<std::size_t>(kValues));
    second.client(id).read(second.variable(id, "vec"), step, 0, {back.data()});
    failures += back != values_of(id, step);
  };
  CHECK(failures_of(second, write_and_read) == 0);
  CHECK(second.stop().code == DC_OK);
}

}  // namespace damaris::test
