// Exists so that Catch2's header is precompiled once for all test programs.
// Runs nowhere.
// Before it: Catch2; after it: every file in test.
#include <catch2/catch.hpp>
