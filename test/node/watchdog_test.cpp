#include "server/watchdog.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "core/base/log.hpp"
#include "core/shm/server_facts.hpp"
#include "support/temp_folder.hpp"

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
  const auto header = std::make_unique<shm::RegionHeader>();
  const server::Watchdog watchdog(*header, std::chrono::milliseconds(10));
  shm::show_busy(*header, "plugin 'stuck' at step 3");
  while (text_of(folder.file("log")).find("in plugin 'stuck' at step 3 for ") == std::string::npos) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string text = text_of(folder.file("log"));
  CHECK(text.find("stuck") == text.rfind("stuck"));
  configure_log(LogLevel::off, "", "");
}

}  // namespace
}  // namespace damaris::test
