#include "verbs.hpp"

#include <cstdio>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "folder.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "write/classic_client.hpp"
#include "write/client.hpp"
#include "write/parts.hpp"

namespace damaris::bench {
namespace {

constexpr bool kStorage = DAMARIS_BENCH_STORAGE;
constexpr const char* kFilters = "shuffle,deflate:1";

void with_idle_server(bool quick, const Folder& folder, Circle& source, Circle& target, Report& report) {
  const WritePlan plan = WritePlan::idle(quick);
  const std::string config = folder.write("idle.xml", configuration(plan, ""));
  const LocalServer server(config, 1);
  WriteClient client(config, plan, source, target);
  measure_with_idle_server(client, plan, report);
  report.rows.push_back(measure_idle_server(server, quick ? 2 : 5, quick ? 100 : 1000));
}

// In rounds of its own: beside the other ways of a write it made these 2 to 14 ns slower.
void with_classic_parts(bool quick, const Folder& folder, Circle& source, Circle& target, Report& report) {
  const WritePlan plan = WritePlan::classic(quick);
  const std::string config = folder.write("classic.xml", configuration(plan, ""));
  const LocalServer server(config, 1);
  ClassicClient classic(plan, source);
  WriteClient client(config, plan, source, target);
  measure_against_classic_parts(client, classic, plan, report);
}

void with_busy_server(const WritePlan& plan, const Folder& folder, const std::string& what, const std::string& filters,
                      Circle& source, Circle& target, Report& report) {
  const std::string storage = format("<hdf5 basename=\"{}\" filters=\"{}\"/>", (folder.path() / "out").string(), filters);
  const std::string config = folder.write("busy.xml", configuration(plan, storage));
  const LocalServer server(config, 1);
  WriteClient client(config, plan, source, target);
  measure_with_busy_server(client, server, plan, what, folder.path(), report);
}

void with_one_client(bool quick, const Folder& folder, Report& report) {
  if (!pin_to_client_core()) std::printf("only one core: client and server share it, so times include waiting for it\n");
  Circle source = Circle::private_memory(circle_bytes(quick));
  Circle target = Circle::shared_memory(circle_bytes(quick));
  with_idle_server(quick, folder, source, target, report);
  with_classic_parts(quick, folder, source, target, report);
  if (!kStorage) std::printf("\nthis build has no hdf5 plugin: the busy server is left out\n");
  if (!kStorage) return;
  with_busy_server(WritePlan::busy(quick), folder, "writes", "", source, target, report);
  with_busy_server(WritePlan::busy(quick), folder, "compresses", kFilters, source, target, report);
  with_busy_server(WritePlan::busy_large(quick), folder, "compresses", kFilters, source, target, report);
}

}  // namespace

Report run_write(bool quick, const std::string& parent, int clients) {
  const Folder folder(parent);
  Report report;
  with_one_client(quick, folder, report);
  measure_several_clients(quick, clients > 0 ? clients : clients_with_own_core(), folder, report);
  return report;
}

}  // namespace damaris::bench
