// A writer of the manifest without a storage, and what holds it up.
// Used by: tests of the manifest, one thread.
// Before it: FakeHost. After it: ManifestWriter.
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

#include "manifest/writer.hpp"

namespace damaris::test {

struct NoViews : manifest::Views {
  void reset() override {}
  void manifest_changed() override {}
  Work work() override { return Work::none; }
  void finish() override {}
};

// Another open file description: its lock excludes those of the same process, too.
class TakenLock {
 public:
  explicit TakenLock(const std::string& path) : descriptor_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(descriptor_ >= 0);
    struct flock exclusive = {};
    exclusive.l_type = F_WRLCK;
    exclusive.l_len = 1;
    REQUIRE(::fcntl(descriptor_, F_OFD_SETLK, &exclusive) == 0);
  }
  ~TakenLock() { ::close(descriptor_); }
  TakenLock(const TakenLock&) = delete;
  TakenLock& operator=(const TakenLock&) = delete;

 private:
  int descriptor_;
};

inline manifest::WriterOptions without_views() {
  manifest::WriterOptions options;
  options.check_earlier = [](const std::vector<std::string>&) {};
  options.make_views = [](const manifest::RecordView&) { return std::make_unique<NoViews>(); };
  return options;
}

}  // namespace damaris::test
