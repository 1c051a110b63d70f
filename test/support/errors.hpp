// The error a call throws, as a value, so that a test can look at its code and its sentence.
// Used by: tests, one thread.
// Before it: the call under test. After it: REQUIRE.
#pragma once

#include <catch2/catch.hpp>

#include <string>

#include "core/base/error.hpp"

namespace damaris::test {

// Runs `call`; fails the test when it throws no damaris::Error.
template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error(DC_OK, "");
}

}  // namespace damaris::test
