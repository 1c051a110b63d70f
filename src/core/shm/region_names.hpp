// The names of regions in /dev/shm: how they are made, read and searched.
// Used by: as dead_regions.hpp; one thread.
// Before it: the model, and /dev/shm. After it: dead_regions.hpp inspects what was found, region.hpp opens it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::shm {

// The job this process belongs to: DAMARIS_JOB, else the batch system's job id, else "local". Only letters, digits, '-' and '_'.
std::string job_name();
// The job in a region's name, to which data recovered from it belong; this process's own job if the name contains none.
std::string job_of_region(const std::string& region);

// "/damaris.<uid>.": the prefix of all regions of this user.
std::string user_prefix();
// Identifies the regions of one simulation with one output location. Names are truncated and sanitized, so a digest of the exact text is
// appended.
struct RunKey {
  RunKey(std::string name, std::string where = "") : simulation(std::move(name)), place(std::move(where)) {}
  RunKey(const char* name) : simulation(name) {}
  std::string simulation;
  std::string place;  // absolute basenames of the storages, or the configuration's path if there are none
};
// Resolves relative paths against this process's working directory, and links on the disk, however long that takes.
RunKey run_key(const model::Model& model);
// "/damaris.<uid>.<job>.<simulation>.": the prefix of all regions of a job and simulation. The name of another simulation may be sanitized
// to the same.
std::string simulation_prefix(const std::string& simulation);
// "/damaris.<uid>.<job>.<simulation>.<digest>.": the prefix of this key's regions only.
std::string region_prefix(const RunKey& key);
// The prefix of all regions of the same run: the name without node and server.
std::string run_of_region(const std::string& region);
// The prefix of the regions of all simulations of this user's job.
std::string job_prefix();
// The prefix of all regions of one run; `nonce` distinguishes runs.
std::string run_prefix(const RunKey& key, std::uint64_t nonce);
// Whether `text` is a complete prefix of this kind, with this user's id. It comes from a manifest, which another user may have written.
bool is_run_prefix(const std::string& text);
// The full name.
std::string region_name(const RunKey& key, std::uint64_t nonce, int node, int server);
// Whether `name` is a full name of this kind, with this user's id. That of a start lock or of a spill file is not.
bool is_region_name(const std::string& name);
std::uint64_t make_nonce();

// Calls `take` with the names in /dev/shm, each with its slash, that begin with user_prefix(): of regular files only, where the file
// system returns. It reads the folder and nothing else, because other users may put any number of files there.
// Throws Error(DC_E_SHM) if /dev/shm cannot be listed; without /dev/shm there are no names.
void for_each_name_of_user(const std::function<void(const std::string& name)>& take);
// The names of regions that `is_wanted`, sorted. Looks only at those, and leaves out what is not a regular file of this user.
// Throws as for_each_name_of_user.
std::vector<std::string> region_names_where(const std::function<bool(const std::string& name)>& is_wanted);

}  // namespace damaris::shm
