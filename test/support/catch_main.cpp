// The main function of test programs without MPI.
// Runs in each unit test process, on its main thread.
// Before it: scripts/bounded; after it: ctest reads the exit status.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char** argv) {
  // Catch returns the number of failures, and ctest takes 77 for "skipped".
  return Catch::Session().run(argc, argv) == 0 ? 0 : 1;
}
