#include "core/shm/region_names.hpp"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/shm/dead_regions.hpp"

namespace {

std::vector<std::string> touched;  // paths
std::mutex touching;               // other tests of the program look from other threads

void touch(const char* path) {
  const std::lock_guard<std::mutex> lock(touching);
  touched.emplace_back(path);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library's: what the code under test calls is looked for in the program first.
extern "C" int lstat(const char* path, struct stat* facts) noexcept {
  touch(path);
  return real<int(const char*, struct stat*)>("lstat")(path, facts);
}

extern "C" int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  touch(path);
  return real<int(const char*, int, ...)>("open")(path, flags, mode);
}

namespace damaris::shm {
namespace {

std::string path_of(const std::string& name) { return "/dev/shm" + name; }

// Files that are no regions, at names that other users can choose.
struct Planted {
  enum class Kind { file, link, pipe, folder };
  Planted(std::string name, Kind kind) : path(path_of(name)) {
    if (kind == Kind::file) REQUIRE(::mknod(path.c_str(), S_IFREG | 0600, 0) == 0);
    if (kind == Kind::link) REQUIRE(::symlink("/dev/null", path.c_str()) == 0);
    if (kind == Kind::pipe) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    if (kind == Kind::folder) REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  }
  ~Planted() {
    if (::unlink(path.c_str()) != 0) ::rmdir(path.c_str());
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  std::string path;
};

int touches_of(const std::vector<std::string>& paths) {
  int count = 0;
  for (const std::string& path : touched)
    for (const std::string& one : paths) count += path == one ? 1 : 0;
  return count;
}

TEST_CASE("a name is that of a region only if it is one that Damaris gives, whole and with this user's number") {
  const std::string name = region_name({"s", "/out/x"}, 0x12345678, 3, 1), run = run_of_region(name);
  CHECK(is_region_name(name));
  CHECK(is_region_name(region_name({"a name with/odd letters, longer than fifty characters in all", ""}, 0, 12, 34)));
  const std::string stranger = "/damaris." + std::to_string(::geteuid() + 1) + name.substr(name.find('.', 9));
  for (const std::string& wrong :
       {std::string(), std::string("/"), user_prefix(), run, run + "n0", run + "n.s0", run + "n0.s", run + "n0.s0.", run + "n0.sx",
        name + ".spill", name + ".lock", region_prefix("s") + "lock", stranger, name.substr(1)})
    CHECK_FALSE(is_region_name(wrong));
}

TEST_CASE("a search for regions looks at no file but those with a region's name in the place searched, however many there are") {
  using Kind = Planted::Kind;
  const RunKey key("crowd");
  const std::string name = region_name(key, make_nonce(), 0, 0), run = run_of_region(name);
  const std::string stranger = "/damaris." + std::to_string(::geteuid() + 1) + name.substr(name.find('.', 9));
  std::vector<std::string> paths;
  const Planted own(name, Kind::file);
  const Planted others[] = {{region_prefix(key) + "1", Kind::file},
                            {run + "n0.s0.other", Kind::file},
                            {name + ".spill", Kind::file},
                            {run + "n0.s1", Kind::link},
                            {run + "n0.s2", Kind::pipe},
                            {run + "n0.s3", Kind::folder},
                            {stranger, Kind::file},
                            {"/foreign" + name.substr(1), Kind::file},
                            {region_name("elsewhere", make_nonce(), 0, 0), Kind::file}};
  for (const Planted& other : others) paths.push_back(other.path);
  touched.clear();
  (void)find_regions(region_prefix(key));
  (void)find_regions_of_runs({run});
  clear_dead_regions(key, model::StalePolicy::discard);
  warn_of_others(key);
  remove_dead_start_locks();
  CHECK(touches_of({own.path}) > 0);
  CHECK(touches_of(paths) == 0);
}

TEST_CASE("only the whole name of a run as Damaris makes it names its regions") {
  const std::string run = run_prefix({"s", "/out/x"}, 0x12345678);
  CHECK(is_run_prefix(run));
  CHECK(run_of_region(region_name({"s", "/out/x"}, 0x12345678, 3, 1)) == run);
  CHECK(is_run_prefix(run_prefix("a name with/odd letters, longer than fifty characters in all", 0)));
  const std::string stranger = "/damaris." + std::to_string(::geteuid() + 1) + run.substr(run.find('.', 9));
  for (const std::string& wrong : {std::string(), std::string("/"), std::string("/damaris."), user_prefix(), job_prefix(),
                                   simulation_prefix("s"), region_prefix({"s", "/out/x"}), run + "n0.s0", run + ".", stranger,
                                   run.substr(0, run.size() - 1), "x" + run, user_prefix() + "../x.0123456789abcdef.01234567."})
    CHECK_FALSE(is_run_prefix(wrong));
}

TEST_CASE("jobs whose names differ only in characters that a region's name must not contain are two jobs") {
  std::set<std::string> names;
  for (const std::string& job :
       {std::string("run.1"), std::string("run:1"), std::string("run_1"), std::string(60, 'a'), std::string(61, 'a')}) {
    ::setenv("DAMARIS_JOB", job.c_str(), 1);
    names.insert(job_name());
  }
  ::unsetenv("DAMARIS_JOB");
  CHECK(names.size() == 5);
}

TEST_CASE("rule 16: region names hold user, job, nonce, node and server, and only safe letters") {
  ::setenv("DAMARIS_JOB", "a/../b c", 1);
  const std::string name = region_name("my sim/x", 0x12345678, 2, 5);
  ::unsetenv("DAMARIS_JOB");
  CHECK_THAT(name, Catch::StartsWith("/damaris." + std::to_string(::geteuid()) + ".a____b_c-") && Catch::Contains(".my_sim_x.") &&
                       Catch::EndsWith(".12345678.n2.s5"));
  CHECK(run_of_region(name) + "n2.s5" == name);
  CHECK_THAT(job_of_region(name), Catch::StartsWith("a____b_c-"));
  CHECK(job_of_region("") == job_name());
}

}  // namespace
}  // namespace damaris::shm
