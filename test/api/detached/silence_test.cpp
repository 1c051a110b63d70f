// What a user sees without a log, in a program that ignores what calls return.
#include "run.hpp"

namespace damaris::test {
namespace {

// Without the log being switched off.
class Talking {
 public:
  Talking() { ::unsetenv("DAMARIS_LOG"); }
  ~Talking() { ::setenv("DAMARIS_LOG", "off", 1); }
};

// The code that the client answers; what it prints before that is added to `printed`.
int ask(Process& client, const std::string& command, std::string& printed) {
  client.say(command);
  for (std::string line = client.line(); !line.empty(); line = client.line()) {
    const std::size_t end = line.find_first_not_of("-0123456789");
    if (end != std::string::npos && line[end] == ' ' && line.find('-', 1) > end) return std::stoi(line);
    printed += line + "\n";
  }
  FAIL("no answer to '" + command + "' after: " + printed);
  return 0;
}

// What a client prints that ends without dc_finalize.
std::string printed_at_exit(Process& client) {
  std::string printed;
  client.say("quit");
  for (std::string line = client.line(); !line.empty(); line = client.line()) printed += line + "\n";
  return printed;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a step that is lost is printed by the client of a server in the background, and stands in the log beside the output") {
  const Talking talking;
  const TempFolder output;
  const std::string folder = output.file("out"), away = output.file("away");
  std::filesystem::create_directory(folder);
  Run run("<clients count='1'/>", "<storage><hdf5 basename='" + folder + "/run' retry='0'/></storage>");
  Process client({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}, true);
  std::string printed;
  for (const char* command : {"init 0", "write 0", "end 0", "flush 0 60000"}) CHECK(ask(client, command, printed) == DC_OK);
  CHECK(printed.empty());
  CHECK_FALSE(std::filesystem::exists(folder + "/run.log"));  // nothing has happened
  std::filesystem::rename(folder, away);
  CHECK(ask(client, "write 1", printed) == DC_OK);
  const int ended = ask(client, "end 1", printed);  // a quick server has reported it by then
  const int flushed = ask(client, "flush 1 60000", printed);
  CHECK(std::min(ended, flushed) == DC_E_EARLIER_IO);
  CHECK_THAT(printed,
             Catch::Contains("client 0 error: plugin 'hdf5' failed at step 1") && Catch::Contains("restore the output folder"));
  std::filesystem::rename(away, folder);
  (void)ask(client, "finalize", printed);
  CHECK(run.ends());
  CHECK(wait_until(
      [&] { return content(folder + "/run.log").find("server 0 error: plugin 'hdf5' failed at step 1") != std::string::npos; }));
}

TEST_CASE("a client whose server has died prints it once") {
  const Talking talking;
  Run run("<clients count='1'/>");
  Process client({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}, true);
  std::string printed;
  CHECK(ask(client, "init 0", printed) == DC_OK);
  const shm::FoundRegion region = run.region();
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  CHECK(ask(client, "end 0", printed) == DC_E_SERVER_LOST);
  CHECK_THAT(printed, Catch::Contains("client 0 error: server 0 on ") && Catch::Contains("'damaris recover'"));
  printed.clear();
  CHECK(ask(client, "end 1", printed) == DC_E_SERVER_LOST);
  CHECK(printed.empty());
}

TEST_CASE("a process in place that ends without dc_finalize prints what is lost with it, and nothing where all was ended",
          "[unpromised]") {
  const Talking talking;
  const bool ends_step = GENERATE(true, false);
  Run run("<dedicated cores='0'/>");
  Process client({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}, true);
  std::string printed;
  for (const char* command : {"init 0", "write 0", "end 0", "write 1"}) CHECK(ask(client, command, printed) == DC_OK);
  if (ends_step) CHECK(ask(client, "end 1", printed) == DC_OK);
  printed += printed_at_exit(client);
  if (ends_step)
    CHECK(printed.empty());
  else
    CHECK_THAT(printed,
               Catch::Contains("client 0 error: process ") && Catch::Contains("what it wrote from step 1 on is not stored"));
}

TEST_CASE("a process in place that ends without dc_finalize names the first step that its storage still refuses", "[unpromised]") {
  const Talking talking;
  const TempFolder output;
  const std::string folder = output.file("out"), away = output.file("away");
  std::filesystem::create_directory(folder);
  Run run("<dedicated cores='0'/>", "<storage><hdf5 basename='" + folder + "/run'/></storage>");
  Process client({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}, true);
  std::string printed;
  for (const char* command : {"init 0", "write 0", "end 0", "flush 0 60000"}) CHECK(ask(client, command, printed) == DC_OK);
  std::filesystem::rename(folder, away);
  for (const char* command : {"write 1", "end 1", "write 2", "end 2", "write 3"}) CHECK(ask(client, command, printed) == DC_OK);
  const std::string said = printed_at_exit(client);
  CHECK_THAT(said, Catch::Contains("ends without dc_finalize: what it wrote from step 1 on is not stored; call dc_finalize"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  std::filesystem::rename(away, folder);
}

TEST_CASE("a process in place that ends without dc_finalize prints nothing if its storage has taken the steps that it had refused",
          "[unpromised]") {
  const Talking talking;
  const TempFolder output;
  const std::string folder = output.file("out"), away = output.file("away");
  std::filesystem::create_directory(folder);
  Run run("<dedicated cores='0'/>", "<storage><hdf5 basename='" + folder + "/run'/></storage>");
  Process client({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}, true);
  std::string printed;
  for (const char* command : {"init 0", "write 0", "end 0"}) CHECK(ask(client, command, printed) == DC_OK);
  std::filesystem::rename(folder, away);
  for (const char* command : {"write 1", "end 1"}) CHECK(ask(client, command, printed) == DC_OK);
  std::filesystem::rename(away, folder);
  CHECK(ask(client, "flush 1 60000", printed) == DC_OK);
  CHECK(printed_at_exit(client).empty());
}

}  // namespace damaris::test
