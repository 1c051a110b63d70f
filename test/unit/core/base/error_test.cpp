#include "core/base/error.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <set>
#include <string>

namespace {

const int kCodes[] = {DC_OK,
                      DC_N_DISABLED,
                      DC_N_NOT_DUE,
                      DC_E_NOT_INITIALIZED,
                      DC_E_ALREADY_INITIALIZED,
                      DC_E_ARGUMENT,
                      DC_E_UNKNOWN_NAME,
                      DC_E_TYPE,
                      DC_E_SHAPE,
                      DC_E_DUPLICATE,
                      DC_E_BACKWARD,
                      DC_E_NOT_ALLOCATED,
                      DC_E_NOT_COMMITTED,
                      DC_E_NOT_ENDED,
                      DC_E_NO_MPI,
                      DC_E_THREADS,
                      DC_E_FORKED,
                      DC_E_CONFIG,
                      DC_E_CONFIG_MISMATCH,
                      DC_E_PLACEMENT,
                      DC_E_STALE_REGION,
                      DC_E_REGION_IN_USE,
                      DC_E_VERSION,
                      DC_E_TOO_LARGE,
                      DC_E_ITERATION_TOO_LARGE,
                      DC_E_FULL,
                      DC_E_SHM,
                      DC_E_MEMORY,
                      DC_E_TIMEOUT,
                      DC_E_IO,
                      DC_E_EARLIER_IO,
                      DC_E_NO_OUTPUT,
                      DC_E_NOT_STORED,
                      DC_E_PLUGIN,
                      DC_E_SERVER_LOST,
                      DC_E_CLIENT_LOST,
                      DC_E_STOPPED,
                      DC_E_INTERNAL};

}  // namespace

TEST_CASE("every code has a text of its own, and so has a number that is not a code") {
  std::set<std::string> texts;
  for (const int code : kCodes) texts.insert(damaris::code_text(code));
  REQUIRE(texts.size() == std::size(kCodes));
  REQUIRE(texts.count("unknown code") == 0);
  REQUIRE(std::string(damaris::code_text(-12345)) == "unknown code");
}

TEST_CASE("a system error says what failed, why, and what to do") {
  const damaris::Error error = damaris::system_error(DC_E_IO, "cannot open 'x'", ENOENT, "create the folder first");
  REQUIRE(error.code() == DC_E_IO);
  REQUIRE(error.sentence() == "cannot open 'x': No such file or directory; create the folder first");
  REQUIRE(std::string(error.what()) == error.sentence());
}
