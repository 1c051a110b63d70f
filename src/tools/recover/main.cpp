// damaris-recover: stores the data that dead servers left in shared memory, and removes their regions.
// Used by: users and job scripts, on the node of the dead server.
// Before it: a server that was killed. After it: the files and the manifest of its run.
#include <damaris/version.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/base/text.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/region_names.hpp"
#include "server/recovery.hpp"
#include "tools/command_line.hpp"

namespace {

using namespace damaris;

struct Options {
  std::vector<std::string> regions;
  std::string basename;
  bool list = false;
  bool ignore_missing_spill = false;
};

// Accepts names as copied from a message or from /dev/shm.
std::string region_name(std::string text) {
  const std::string folder = "/dev/shm/";
  if (text.rfind(folder, 0) == 0) text.erase(0, folder.size());
  return text.empty() || text[0] != '/' ? "/" + text : text;
}

std::vector<std::string> dead_regions(std::vector<shm::UnreadRegion>& unread) {
  std::vector<std::string> names;
  for (const shm::FoundRegion& found : shm::find_regions(shm::user_prefix(), &unread))
    if (!found.alive) names.push_back(found.name);
  return names;
}

// What a client wrote at once: a dataset of the files may join many.
std::string blocks(std::size_t count) { return format("{} block{}", count, count == 1 ? "" : "s"); }

std::string steps(std::int64_t first, std::int64_t last) {
  return first == last ? format("step {}", first) : format("steps {} to {}", first, last);
}

std::string steps(const std::set<std::int64_t>& which) {
  const std::int64_t first = *which.begin(), last = *which.rbegin();
  const std::size_t count = which.size();
  if (static_cast<std::size_t>(last - first) + 1 == count) return steps(first, last);
  return format("{} steps from {} to {}", count, first, last);
}

// ", steps 0 to 3, step 3 recorded as partial": the steps with blocks, and those that lack some.
std::string steps(const server::Recovery& result) {
  const std::string found = result.steps ? ", " + steps(result.steps->first, result.steps->second) : "";
  if (result.partial.empty()) return found;
  const std::string partial = ", " + steps(result.partial);
  return (partial == found ? found + "," : found + partial) + " recorded as partial";
}

// Of spilled blocks the region's header records only their number.
std::string contents(const server::Leftover& found) {
  const std::size_t here = found.datasets - found.spilled;
  std::string text;
  if (here > 0) text = format("{} of {}, {}", blocks(here), steps(found.first_step, found.last_step), size_text(found.bytes));
  if (found.spilled > 0) text += format("{}{} spilled to {}", here > 0 ? ", and " : "", blocks(found.spilled), found.spill_file);
  return text;
}

void list(const std::string& name) {
  const server::Leftover found = server::inspect_leftover(name);
  std::printf("%s\n  server %d of '%s' on %s (process %d), in %s\n", name.c_str(), found.server_index, found.simulation.c_str(),
              found.host.c_str(), found.server_pid, found.folder.c_str());
  if (found.datasets > 0) std::printf("  %s\n", contents(found).c_str());
  if (found.appends > 0) std::printf("  %zu appends to logs, %s\n", found.appends, size_text(found.append_bytes).c_str());
  if (found.lost) std::printf("  %s, which perhaps nothing else records\n", shm::loss_text(*found.lost).c_str());
  if (found.datasets == 0 && found.appends == 0 && !found.lost) std::printf("  nothing that was not stored\n");
  for (const std::int32_t pid : found.living_clients) std::printf("  process %d is still a client and may publish more\n", pid);
}

// Returns whether all its datasets are stored.
bool recover(const std::string& name, const Options& options) {
  const server::Leftover found = server::inspect_leftover(name);
  const server::Recovery result = server::recover(name, options.basename, options.ignore_missing_spill);
  if (result.left == 0) {
    std::printf("%s: %s%s%s%s, region removed\n", name.c_str(), blocks(result.stored).c_str(),
                found.datasets + found.appends == 0 ? "" : " stored",
                result.given_up == 0 ? "" : format(", {} given up", blocks(result.given_up)).c_str(), steps(result).c_str());
    return true;
  }
  std::printf("%s: %s stored, %zu left in it: %s\n", name.c_str(), blocks(result.stored).c_str(), result.left,
              result.status.message.c_str());
  return false;
}

int run(const Options& options) {
  std::vector<std::string> names;
  std::transform(options.regions.begin(), options.regions.end(), std::back_inserter(names), region_name);
  configure_log(LogLevel::warning, "", "recover");
  std::vector<shm::UnreadRegion> unread;
  if (names.empty()) names = dead_regions(unread);
  if (names.empty() && unread.empty()) std::printf("no dead server has left a region on this node\n");
  for (const shm::UnreadRegion& region : unread) tools::print_error("damaris recover", region.why);
  bool all = unread.empty();
  for (const std::string& name : names) try {
      if (options.list)
        list(name);
      else
        all &= recover(name, options);
    } catch (const std::exception& error) {  // continue with the other regions
      damaris::tools::print_error("damaris recover", error.what());
      all = false;
    }
  if (!options.list) shm::remove_dead_start_locks();
  return all ? 0 : 1;
}

void describe(tools::CommandLine& command, Options& options) {
  command.add_option("REGION", options.regions, "Names below /dev/shm (default: all of this user's\nwhose servers are dead)")
      .type_name("");
  command.add_flag("--list", options.list, "Only say what is there");
  command
      .add_option("--basename", options.basename,
                  "Store it below this name instead of the XML's,\nfor instance when another run writes there now")
      .type_name("PATH")
      .check([](const std::string& path) { return path.empty() ? "it is empty" : ""; });
  command.add_flag("--give-up-spilled", options.ignore_missing_spill,
                   "Store the rest when the spill file is lost or\ndamaged, without what was in it");
  command.add_version("damaris " DAMARIS_VERSION);
  command.footer("Exit status: 0 all is stored, 1 something is not or cannot be looked at, 2 wrong usage.\n");
}

}  // namespace

int main(int argc, char** argv) {
  damaris::prepare_own_process();
  Options options;
  tools::CommandLine command(
      "Stores what dead servers of this node left in shared memory: every dataset that was\npublished, in the files and "
      "the manifest of its run. Then removes their regions.",
      "damaris recover");
  describe(command, options);
  return command.run(argc, argv, [&] { return run(options); });
}
