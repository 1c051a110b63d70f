#include "core/base/own_file.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/temp_folder.hpp"

namespace damaris::test {
namespace {

bool lock(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

}  // namespace

TEST_CASE("a lock ends with the process that took it, although a child that it forked lives on") {
  const TempFolder folder;
  const std::string path = folder.file("locked");
  const int mine = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), other = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE((mine >= 0 && other >= 0 && lock(mine)));
  const bool is_closed = GENERATE(true, false);
  close_in_forks(mine);
  if (!is_closed) keep_in_forks(mine);
  int ready[2] = {};
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  CHECK(::read(ready[0], &byte, 1) == 1);
  CHECK(!lock(other));  // the child has not released what is its parent's
  keep_in_forks(mine);
  ::close(mine);  // as the end of the process does
  CHECK(lock(other) == is_closed);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int descriptor : {other, ready[0], ready[1]}) ::close(descriptor);
}

}  // namespace damaris::test
