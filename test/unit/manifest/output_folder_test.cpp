// What is said of an output folder that cannot be written.
#include "manifest/output_folder.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <csignal>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace damaris;
using Catch::Matchers::Contains;

// A lower limit for as long as this lives.
class LowerLimit {
 public:
  LowerLimit(__rlimit_resource kind, rlim_t most) : kind_(kind), handler_(::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(kind_, &before_) == 0);
    const struct rlimit lower = {most, before_.rlim_max};
    REQUIRE(::setrlimit(kind_, &lower) == 0);
  }
  ~LowerLimit() {
    ::setrlimit(kind_, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  __rlimit_resource kind_;
  sighandler_t handler_;
  struct rlimit before_ = {};
};

}  // namespace

TEST_CASE(
    "if a limit of the process prevents writing to the output folder, the error names the limit, and not the folder's rights") {
  const test::TempFolder folder;
  const manifest::FileNames names(folder.file("storm"), ".n.s0");
  const auto [kind, most, option] = GENERATE(table<__rlimit_resource, rlim_t, const char*>(
      {{RLIMIT_FSIZE, 0, "ulimit -f"}, {RLIMIT_FSIZE, 1024, "ulimit -f"}, {RLIMIT_NOFILE, 0, "ulimit -n"}}));
  const Error error = [&, limit = kind, bytes = most] {
    const LowerLimit lower(limit, bytes);
    return test::error_of([&] { manifest::check_can_write(names); });
  }();
  CHECK(error.code() == DC_E_NO_OUTPUT);
  CHECK_THAT(error.sentence(), Contains("the output folder '" + names.folder() + "' cannot be used: ") &&
                                   Contains(std::string("raise the limit (") + option + ")"));
  CHECK_THAT(error.sentence(), !Contains("basename") && !Contains("writable"));
}

TEST_CASE("the remedy for a missing output folder is to create it, for one that is not a folder to replace it") {
  const test::TempFolder folder;
  folder.write("file", "");
  const auto refusal = [&](const std::string& basename) {
    return test::error_of([&] { manifest::check_can_write({folder.file(basename), ""}); }).sentence();
  };
  CHECK_THAT(refusal("none/storm"), Contains("create it with: mkdir -p '"));
  CHECK_THAT(refusal("file/storm"), Contains("a part of this path is a file"));
}
