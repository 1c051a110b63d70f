#include "write/write_bench.hpp"

#include <cstdio>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "folder.hpp"
#include "idle.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "write/busy_server.hpp"
#include "write/client.hpp"
#include "write/idle_server.hpp"

namespace damaris::bench {
namespace {

constexpr bool kStorage = DAMARIS_BENCH_STORAGE;

void with_idle_server(bool quick, const Folder& folder, Circle& source, Circle& target, Report& report) {
  const WritePlan plan = WritePlan::idle(quick);
  const std::string config = folder.write("idle.xml", configuration(plan, ""));
  const LocalServer server(config, 1);
  WriteClient client(config, plan, source, target);
  measure_with_idle_server(client, plan, report);
  report.rows.push_back(measure_idle_server(server, quick ? 2 : 5, quick ? 100 : 1000));
}

void with_busy_server(bool quick, const Folder& folder, const std::string& what, const std::string& filters, Circle& source,
                      Circle& target, Report& report) {
  const WritePlan plan = WritePlan::busy(quick);
  const std::string storage = format("<hdf5 basename=\"{}\" filters=\"{}\"/>", (folder.path() / "out").string(), filters);
  const std::string config = folder.write("busy.xml", configuration(plan, storage));
  const LocalServer server(config, 1);
  WriteClient client(config, plan, source, target);
  measure_with_busy_server(client, plan, what, folder.path(), report);
}

}  // namespace

Report run_write(bool quick, const std::string& parent) {
  const Folder folder(parent);
  if (!pin_to_client_core()) std::printf("only one core: client and server share it, so times include waiting for it\n");
  const std::uint64_t bytes = WritePlan::idle(quick).buffer_bytes;
  Circle source = Circle::private_memory(bytes);
  Circle target = Circle::shared_memory(bytes);
  Report report;
  with_idle_server(quick, folder, source, target, report);
  if (!kStorage) std::printf("\nthis build has no hdf5 plugin: the busy server is left out\n");
  if (!kStorage) return report;
  with_busy_server(quick, folder, "writes", "", source, target, report);
  with_busy_server(quick, folder, "compresses", "shuffle,deflate:1", source, target, report);
  return report;
}

}  // namespace damaris::bench
