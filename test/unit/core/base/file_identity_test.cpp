#include "core/base/file_identity.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "support/failing_calls.hpp"
#include "support/temp_folder.hpp"

using damaris::FileIdentity;
using damaris::Holder;
using damaris::test::FailsOn;
using damaris::test::TempFolder;

namespace {

int opened(const TempFolder& folder, const std::string& name) {
  const int descriptor = ::open(folder.file(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(descriptor >= 0);
  return descriptor;
}

}  // namespace

TEST_CASE("a descriptor is another file's only if the system says so, not if the file system says nothing", "[unpromised]") {
  const TempFolder folder;
  const int error = GENERATE(EIO, ETIMEDOUT, ESTALE);
  const int descriptor = opened(folder, "ours"), other = opened(folder, "other");
  const FileIdentity ours(descriptor);
  CHECK(ours.holder_of(descriptor) == Holder::ours);
  {
    const FailsOn fault(folder.path(), error);
    CHECK(ours.holder_of(descriptor) == Holder::unknown);
    CHECK(errno == error);
    CHECK_FALSE(ours.has_lost(descriptor));
    CHECK(FileIdentity().has_lost(descriptor));
  }
  CHECK(ours.holder_of(descriptor) == Holder::ours);
  REQUIRE(::dup2(other, descriptor) == descriptor);
  CHECK(ours.holder_of(descriptor) == Holder::other);
  ::close(descriptor);
  CHECK(ours.holder_of(descriptor) == Holder::other);
  CHECK(ours.has_lost(-1));
  ::close(other);
}

TEST_CASE("a descriptor whose file could not be looked at is never known to be another file's, unless it is closed",
          "[unpromised]") {
  const TempFolder folder;
  const int descriptor = opened(folder, "ours");
  FileIdentity unknown;
  {
    const FailsOn fault(folder.path(), EIO);
    unknown = FileIdentity(descriptor);
  }
  CHECK(unknown.holder_of(descriptor) == Holder::unknown);
  CHECK(errno == EIO);
  ::close(descriptor);
  CHECK(unknown.holder_of(descriptor) == Holder::other);
}
