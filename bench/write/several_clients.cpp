#include "write/parts.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <random>
#include <thread>

#include "barrier.hpp"
#include "child_process.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "progress.hpp"
#include "verbs.hpp"
#include "write/client.hpp"
#include "write/comparison.hpp"
#include "write/sample_page.hpp"

namespace damaris::bench {
namespace {

constexpr std::int64_t kLimitMs = 600'000;

struct Group {
  int clients;
  bool own_cores;
  WritePlan plan;
  std::string config;
};

std::vector<int> counts(int most) {
  std::vector<int> result;
  for (int clients = 1; clients < most; clients *= 2) result.push_back(clients);
  result.push_back(most);
  return result;
}

std::size_t core_of(int client) { return static_cast<std::size_t>(client % clients_with_own_core()); }

// The same turns in the same order in all clients: what is beside a sample is the same as it.
std::vector<Place> turns_of(const WritePlan& plan) {
  std::vector<Place> turns;
  for (std::size_t size = 0; size < plan.sizes.size(); ++size)
    for (int repeat = 0; repeat < plan.sizes[size].repeats; ++repeat)
      for (const bool is_write : {false, true}) turns.push_back({size, is_write, repeat});
  return turns;
}

void measure_turns(WriteClient& client, int id, const WritePlan& plan, SamplePage& page) {
  std::vector<Place> turns = turns_of(plan);
  std::mt19937 random(4);
  for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
    std::shuffle(turns.begin(), turns.end(), random);
    for (const Place& turn : turns) {
      page.barrier().wait();
      const Sample sample = client.measure(turn.is_write ? Method::write_to : Method::plain_memcpy, turn.size);
      if (turn.is_write) client.end_step(0);
      if (round >= plan.warm_up) page.at(id, round - plan.warm_up, turn) = sample;
    }
  }
}

void be_client(const Group& group, int id, std::uint64_t circle, SamplePage& page) {
  pin_to_core(core_of(id));
  Circle source = Circle::private_memory(circle);
  Circle target = Circle::shared_memory(circle);
  WriteClient client(group.config, group.plan, source, target, id);
  measure_turns(client, id, group.plan, page);
}

// Throws as soon as one has failed: the others would wait for it.
void wait_for_all(std::deque<ChildProcess>& clients) {
  const Deadline deadline = Deadline::after_ms(kLimitMs);
  const auto is = [](ChildProcess::State state) { return [state](ChildProcess& client) { return client.look() == state; }; };
  while (!std::all_of(clients.begin(), clients.end(), is(ChildProcess::State::ended_well))) {
    if (std::any_of(clients.begin(), clients.end(), is(ChildProcess::State::failed)))
      throw Error(DC_E_CLIENT_LOST, "one of several clients of the benchmark has failed; what it said stands above");
    if (deadline.expired()) throw Error(DC_E_TIMEOUT, format("several clients of the benchmark took more than {} ms", kLimitMs));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void add_details(const Group& group, const SizeCase& size, const Samples& plain, const Samples& ours, Report& report) {
  for (const bool is_write : {false, true})
    report.details.push_back(details({{"server", "idle"},
                                      {"clients", group.clients},
                                      {"own_cores", group.own_cores},
                                      {"bytes", size.bytes},
                                      {"method", method_name(is_write ? Method::write_to : Method::plain_memcpy)}},
                                     is_write ? ours : plain));
}

void add_row(const Group& group, const SizeCase& size, const Samples& plain, const Samples& ours, Report& report) {
  if (group.clients == 1 || !group.own_cores) return;
  const std::string bytes = size_text(size.bytes);
  if (size.bytes < kLargeBytes)
    report.rows.push_back({format("dc_write {}, ns added over memcpy, {} clients", bytes, group.clients),
                           added(ours.wall_ns, plain.wall_ns), true, 60, 25, added(ours.cpu_ns, plain.cpu_ns).median});
  else
    report.rows.push_back({format("dc_write {} over memcpy, {} clients", bytes, group.clients), ratio(ours.wall_ns, plain.wall_ns),
                           true, 1.05, 0.80, ratio(ours.cpu_ns, plain.cpu_ns).median});
}

void report_group(const Group& group, const SamplePage& page, Report& report) {
  for (std::size_t i = 0; i < group.plan.sizes.size(); ++i) {
    const SizeCase& size = group.plan.sizes[i];
    const Samples plain = page.all(i, false), ours = page.all(i, true);
    std::printf("%6d%c %8s %10s %10s %10s  %s\n", group.clients, group.own_cores ? ' ' : '!', size_text(size.bytes).c_str(),
                time_text(median(plain.wall_ns)).c_str(), time_text(median(ours.wall_ns)).c_str(),
                time_text(median(ours.cpu_ns)).c_str(), comparison(size.bytes, ours.wall_ns, plain.wall_ns).c_str());
    add_row(group, size, plain, ours, report);
    add_details(group, size, plain, ours, report);
  }
}

void measure_group(const Group& group, std::uint64_t circle, Report& report) {
  SamplePage page(group.clients, group.plan);
  const LocalServer server(group.config, group.clients, static_cast<std::size_t>(clients_with_own_core()));
  {
    Progress progress("clients");
    progress.show(0, group.clients);
    std::deque<ChildProcess> clients;
    for (int id = 0; id < group.clients; ++id) clients.emplace_back([&, id] { be_client(group, id, circle, page); });
    wait_for_all(clients);
  }
  report_group(group, page, report);
}

}  // namespace

int clients_with_own_core() { return std::clamp(static_cast<int>(allowed_cores().size()) - 1, 1, kMostClients); }

void measure_several_clients(bool quick, int most, const Folder& folder, Report& report) {
  std::printf("\nclients that write at the same time; median over all, server idle\n");
  if (most > clients_with_own_core()) std::printf("(! they share cores: their times hold the turns of the others)\n");
  std::printf("%7s %8s %10s %10s %10s  %s\n", "clients", "", "memcpy", "write_to", "cpu", "write_to - or / memcpy");
  for (const int clients : counts(most)) {
    const WritePlan plan = WritePlan::several(quick, clients);
    const std::string config = folder.write(format("clients{}.xml", clients), configuration(plan, ""));
    measure_group({clients, clients <= clients_with_own_core(), plan, config}, share_bytes(quick, clients), report);
  }
}

}  // namespace damaris::bench
