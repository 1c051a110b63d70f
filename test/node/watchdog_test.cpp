#include <fstream>
#include <sstream>
#include <string>

#include "core/base/log.hpp"
#include "core/shm/server_facts.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("rule 4: a plugin that takes long is named in the log while it still runs, once") {
  const TempFolder folder;
  configure_log(LogLevel::warning, folder.file("log"), "server 0");
  Node node(node_model());
  shm::RegionHeader& header = node.region().header();
  const auto poll_until = [&](Deadline end) {
    while (!end.expired()) node.server().poll();
    return text_of(folder.file("log"));
  };
  shm::show_busy(header, "plugin 'stuck' at step 3");
  CHECK(poll_until(Deadline::after_ms(100)).empty());
  header.busy_since_ns -= 8'000'000'000;
  const std::string text = poll_until(Deadline::after_ms(200));
  CHECK_THAT(text, Catch::Contains("the server has been in plugin 'stuck' at step 3 for "));
  CHECK(text.find("stuck") == text.rfind("stuck"));
  shm::show_busy(header, "");
  node.stop();
  configure_log(LogLevel::off, "", "");
}

}  // namespace
}  // namespace damaris::test
