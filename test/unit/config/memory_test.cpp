// A configuration that is read while memory is short.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "config/schema.hpp"
#include "unit/config/parse_text.hpp"

// The allocations of this program: the one that `left` counts down to fails.
namespace {

constexpr long kNone = -1;
long left = kNone;
long taken = 0;

void* try_take(std::size_t bytes) noexcept {
  ++taken;
  if (left > 0) --left;
  const bool fails = left == 0;
  if (fails) left = kNone;
  return fails ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* take(std::size_t bytes) {
  void* memory = try_take(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return try_take(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return try_take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace damaris;

const std::string kPath = "x.xml", kText =
                                       "<simulation name='s'><parameter name='n' value='4'/><data><layout name='l' type='real' "
                                       "dimensions='n,n'/><variable name='v' "
                                       "layout='l' unit='K'/></data><storage><hdf5 basename='x'/></storage></simulation>";

enum Outcome { kRead = 10, kOutOfMemory, kOtherError, kOtherException };

// Allocation `nth` fails from the start of `read`, in a process of its own: what the parser then leaves behind is its own matter.
template <class Read>
int outcome_if_fails(long nth, Read&& read) {
  const pid_t child = ::fork();
  if (child == 0) {
    int outcome = kRead;
    left = nth;
    try {
      read();
      left = kNone;
    } catch (const Error& error) {
      left = kNone;
      outcome = error.code() == DC_E_MEMORY && error.sentence().find("x.xml") != std::string::npos ? kOutOfMemory : kOtherError;
    } catch (...) {
      left = kNone;
      outcome = kOtherException;
    }
    ::_exit(outcome);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("whichever allocation fails while a configuration is read, the error is out of memory and not a fault of Damaris",
          "[unpromised]") {
  const config::Schema schema;
  const auto read = [&] { (void)config::parse(kText, kPath, schema); };
  read();
  const long before = taken;
  read();
  const long needed = taken - before;
  REQUIRE(needed > 100);
  int failed = 0;
  for (long nth = 1; nth <= needed; nth += 1 + needed / 150) {
    const int outcome = outcome_if_fails(nth, read);
    INFO("allocation " << nth << " of " << needed);
    CAPTURE(outcome);
    CHECK((outcome == kOutOfMemory || outcome == kRead));
    failed += outcome == kOutOfMemory ? 1 : 0;
  }
  CHECK(failed > 50);
}
