// Which client starts a detached server, which ones may attach to it, and when it ends.
#include <sys/stat.h>

#include <fstream>

#include "core/shm/region_names.hpp"
#include "run.hpp"

namespace damaris::test {
namespace {

// Everybody writes, ends and finalizes step 0.
void write_and_leave(Run& run, int clients) {
  for (int id = 0; id < clients; ++id)
    for (const char* command : {"write 0", "end 0"}) run.client(id).must(command);
  for (int id = 0; id < clients; ++id) run.client(id).ask("finalize");
  for (int id = 0; id < clients; ++id) CHECK(run.client(id).answer().code == DC_OK);
}

// damaris-server runs and its signal handlers stand: the kernel lists SIGTERM (15) among the signals that it catches. Before it is
// executed, those of Catch do.
bool catches_sigterm(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  if (!std::getline(status, line) || line != "Name:\tdamaris-server") return false;
  while (std::getline(status, line))
    if (line.rfind("SigCgt:", 0) == 0) return (std::stoull(line.substr(7), nullptr, 16) >> 14 & 1) != 0;
  return false;
}

TEST_CASE("rule 7: a server that the user started takes as many clients as --clients says, and leaves when they have finalized") {
  Run run("<clients count='9'/><server start='manual'/>");
  const auto server = run.ready_server({"--clients", "3"});
  for (const int id : {1, 2, 0}) run.attached(id);
  const Answer fourth = run.client(3)("init 3");
  CHECK(fourth.code == DC_E_CONFIG);
  CHECK_THAT(fourth.sentence, Catch::Contains("already has its 3 clients; start it with --clients N"));
  write_and_leave(run, 3);
  CHECK(server->wait() == 0);
  CHECK(run.regions().empty());
  REQUIRE(run.lines("step 0").size() == 1);
  CHECK_THAT(run.lines("step 0")[0], Catch::Contains("datasets 3 x:0.0=128:0 x:1.0=128:0 x:2.0=128:0"));
  CHECK(run.lines("finalize clients 0 1 2").size() == 1);
}

TEST_CASE("an action prints into the output of its server") {
  Run run("<clients count='1'/><server start='manual'/>",
          "<actions><event name='print' action='print_step' using='damaris_test_printing.so'/></actions>");
  const auto server = run.ready_server();
  TestClient& client = run.attached(0);
  client.must("signal print 3");
  client.must("end 3");
  client.must("finalize");
  CHECK(server->wait() == 0);
  CHECK(server->line() == "server 0 sees step 3");
}

TEST_CASE("a client that finds its server loads neither the server's library nor a parser") {
  Run run("<clients count='1'/><server start='manual'/>");
  const auto server = run.ready_server();
  TestClient& client = run.attached(0);
  std::ifstream maps("/proc/" + std::to_string(client.process().pid()) + "/maps");
  const std::string all(std::istreambuf_iterator<char>(maps), {});
  CHECK_THAT(all, Catch::Contains("libdamaris.so") && !Catch::Contains("libdamaris_server") && !Catch::Contains("xerces"));
  write_and_leave(run, 1);
  CHECK(server->wait() == 0);
}

TEST_CASE("rule 7: of several clients that come at once one starts the server, and all attach to it") {
  for (int round = 0; round < 3; ++round) {
    Run run("<clients count='4'/>");
    for (int id = 0; id < 4; ++id) run.client(id);
    for (int id = 0; id < 4; ++id) run.client(id).ask("init " + std::to_string(id));
    for (int id = 0; id < 4; ++id) {
      const Answer answer = run.client(id).answer();
      INFO(answer.sentence);
      CHECK(answer.code == DC_OK);
    }
    CHECK(run.regions().size() == 1);
    write_and_leave(run, 4);
    CHECK(run.ends());
    CHECK(run.lines("finalize").size() == 1);
    CHECK_THAT(run.lines("step 0").at(0), Catch::Contains("datasets 4 "));
  }
}

TEST_CASE("rule 7: a run that follows another at once gets a server of its own") {
  Run run("<clients count='2'/>");
  for (int round = 0; round < 10; ++round) {
    for (int id = 0; id < 2; ++id) run.client(id).ask("init " + std::to_string(id));
    for (int id = 0; id < 2; ++id) {
      const Answer answer = run.client(id).answer();
      INFO(answer.sentence);
      REQUIRE(answer.code == DC_OK);
    }
    write_and_leave(run, 2);
  }
  CHECK(run.ends());
  CHECK(run.lines("finalize").size() == 10);
  CHECK(run.lines("step 0 complete 1 time -1 datasets 2 ").size() == 10);
}

TEST_CASE(
    "rule 7: a client that is started again at once after it was killed gets a server of its own, while the first one leaves") {
  Run run("<clients count='1'/>");
  for (int time = 0; time < 3; ++time) {
    run.attached(0).must("write " + std::to_string(time));
    run.drop(0);  // killed
  }
  CHECK(run.attached(0)("write 3").code == DC_OK);
}

TEST_CASE("rule 7: no step completes before all clients have attached, and the time-out names those that have not") {
  Run run("<clients count='2'/>");
  TestClient& first = run.attached(0);
  for (const char* command : {"write 0", "end 0"}) first.must(command);
  const Answer early = first("flush 0 200");
  CHECK(early.code == DC_E_TIMEOUT);
  CHECK_THAT(early.sentence, Catch::Contains("step 0 is not durable after 200 ms") &&
                                 Catch::Contains("step 0 is not ended by slot 1 (not attached yet)"));
  run.attached(1).must("end 0");
  first.must("flush 0 60000");
  first.must("finalize");
  run.client(1).must("finalize");
  CHECK_THAT(run.lines("step 0").at(0), Catch::Contains("datasets 1 x:0.0=128:0 absent:1"));
}

TEST_CASE("rule 7: after the attach time-out the run goes on without the clients that have not attached") {
  Run run("<clients count='2'/><server attach-timeout='5s'/>");
  TestClient& first = run.client(0);  // a process that is there already attaches in time on a slow machine, too
  const auto server = run.ready_server();
  first.must("init 0");
  first.must("write 0");
  const std::string sentence = "only 1 of 2 clients attached within 5000 ms; the run goes on without the others";
  Answer answer = first("end 0");  // on a slow machine the time is over by then
  if (answer.code == DC_OK) answer = first("flush 0 60000");
  CHECK(answer.code == DC_E_EARLIER_IO);
  CHECK(answer.sentence == sentence);
  first.must("finalize");
  CHECK(server->wait() == 1);
  CHECK(server->line() == "damaris server: " + sentence);
}

TEST_CASE("a second server of the same job is refused, and the first one named") {
  Run run("<clients count='1'/>");
  const auto first = run.ready_server();
  const std::string sentence = "a server of 'run' already runs on this node (process " + std::to_string(first->pid()) +
                               ", region " + run.region().name + ")";
  const auto second = run.start_server();
  CHECK(second->wait() == 1);
  CHECK_THAT(second->line(), Catch::StartsWith("damaris server: " + sentence));
  run.attached(0);
  write_and_leave(run, 1);
  CHECK(first->wait() == 0);
}

TEST_CASE("of two servers that go to the background at once one is refused") {
  Run run("<clients count='1'/>");
  const auto one = run.start_server({"--detach"}), other = run.start_server({"--detach"});
  CHECK(one->wait() + other->wait() == 1);
  CHECK(one->line() + other->line() != "");
  CHECK(run.region().server_pid != one->pid());
  run.attached(0);
  write_and_leave(run, 1);
  CHECK(run.ends());
}

TEST_CASE("a server that waits for another start gives up at the attach time-out or at SIGTERM, and names the lock") {
  const bool background = GENERATE(false, true);
  Run run("<clients count='1'/><server attach-timeout='100ms'/>");
  shm::StartLock other(run.key());
  REQUIRE(other.try_take());
  const std::vector<std::string> options = background ? std::vector<std::string>{"--detach"} : std::vector<std::string>{};
  const auto late = run.start_server(options);
  CHECK_THAT(late->line(), Catch::StartsWith("damaris server: another start of 'run' on this node is under way and holds /dev/shm" +
                                             other.name() + " (waited 100 ms)"));
  CHECK(late->wait() == 1);
  run.folder().write("run.xml", Run::xml("<clients count='1'/><server attach-timeout='1h'/>"));
  const auto stopped = run.start_server(options);
  REQUIRE(wait_until([&] { return catches_sigterm(stopped->pid()); }));
  stopped->kill(SIGTERM);
  CHECK_THAT(stopped->line(), Catch::Contains("asked to stop while waiting"));
  CHECK(stopped->wait() == 1);
  CHECK(run.regions().size() == 1);
}

TEST_CASE("a client does not start a server while the start lock cannot be had") {
  Run run("<clients count='1'/><server attach-timeout='3s'/>");  // in which even a slow client comes to ask for the lock
  {
    shm::StartLock other(run.key());
    REQUIRE(other.try_take());
    const Answer late = run.client(0)("init 0");
    CHECK(late.code == DC_E_TIMEOUT);
    CHECK_THAT(late.sentence,
               Catch::StartsWith("another start of 'run' on this node is under way and holds /dev/shm" + other.name()) &&
                   Catch::Contains("client 0 waited 3000 ms") && Catch::Contains("fuser"));
    CHECK(run.regions().size() == 1);
  }
  CHECK(run.regions().empty());
  const std::string in_the_way = "/dev/shm" + shm::StartLock(run.key()).name();
  REQUIRE(::mkdir(in_the_way.c_str(), 0700) == 0);
  const Answer answer = run.client(0)("init 0");
  ::rmdir(in_the_way.c_str());
  CHECK(answer.code == DC_E_SHM);
  CHECK_THAT(answer.sentence, Catch::Contains("cannot make the start lock " + in_the_way));
  run.folder().write("run.xml", Run::xml("<clients count='1'/>"));  // the server's start may take longer than that
  run.attached(0).must("finalize");
  CHECK(run.ends());
}

// What this process starts meanwhile inherits it, and what that starts.
class HeldBackSignals {
 public:
  HeldBackSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    for (const int signal : kIgnored) handlers_.push_back(::signal(signal, SIG_IGN));
  }
  ~HeldBackSignals() {
    for (std::size_t i = 0; i < handlers_.size(); ++i) ::signal(kIgnored[i], handlers_[i]);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static constexpr int kIgnored[] = {SIGHUP, SIGUSR1, SIGTERM};
  sigset_t before_;
  std::vector<sighandler_t> handlers_;
};

TEST_CASE(
    "a server that a client starts holds back and ignores none of the signals that the client does, but SIGHUP as nohup asks") {
  Run run("<clients count='1'/>");
  {
    const HeldBackSignals inherited;
    run.client(0);
  }
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  const pid_t server = run.region().server_pid;
  std::ifstream status("/proc/" + std::to_string(server) + "/status");
  std::string ignored;
  while (std::getline(status, ignored) && ignored.rfind("SigIgn:", 0) != 0) {
  }
  CHECK(ignored == "SigIgn:\t0000000000000001");
  ::kill(server, SIGTERM);
  CHECK(run.ends());
  CHECK(client("end 1").code == DC_E_SERVER_LOST);
}

TEST_CASE("an id that is used twice is refused, with the process that has it") {
  Run run("<clients count='2'/>");
  run.attached(0);
  const Answer second = run.client(1)("init 0");
  CHECK(second.code == DC_E_DUPLICATE);
  CHECK(second.sentence == "client id 0 is already attached to this server (process " +
                               std::to_string(run.client(0).process().pid()) + "); ids are unique in a run");
  run.attached(1);  // the slot is free again
  write_and_leave(run, 2);
}

TEST_CASE("another version of the configuration is refused while the server of the first one runs") {
  Run run("<clients count='2'/>");
  run.attached(0);
  run.folder().write("run.xml", Run::xml("<clients count='3'/>"));
  const Answer other = run.client(1)("init 1");
  CHECK(other.code == DC_E_CONFIG_MISMATCH);
  CHECK_THAT(other.sentence, Catch::Contains("(process " + std::to_string(run.region().server_pid)) &&
                                 Catch::Contains("was started with another version of " + run.config()));
}

TEST_CASE("the same configuration in another folder is another run: it gets a server of its own") {
  Run run("<clients count='2'/>");
  run.attached(0);
  const TempFolder elsewhere;
  std::filesystem::copy(run.config(), elsewhere.path());
  TestClient stranger(elsewhere.file("run.xml"));
  stranger.must("init 1");
  CHECK(run.regions().size() == 2);
  const std::filesystem::path near = std::filesystem::relative(run.config(), std::filesystem::current_path());
  TestClient same_file(near.string());
  same_file.must("init 1");
}

TEST_CASE("start=\"manual\" without a server is a time-out that says what to do") {
  Run run("<server start='manual' attach-timeout='200ms'/>");
  const Answer answer = run.client(0)("init 0");
  CHECK(answer.code == DC_E_TIMEOUT);
  CHECK(answer.sentence == "client 0 found no server of 'run' on this node within 200 ms; start 'damaris server " + run.config() +
                               "' or set <server start=\"auto\"/>");
}

TEST_CASE("what keeps a server from starting comes back to the client that started it, with its code") {
  Run plugin("<clients count='1'/>", "<plugin name='p' using='no_such.so'/>");
  CHECK(plugin.client(0)("init 0").code == DC_E_PLUGIN);
  Run memory("<buffer size='1048576TiB'/>");
  const Answer answer = memory.client(0)("init 0");
  CHECK(answer.code == DC_E_SHM);
  CHECK_THAT(answer.sentence, Catch::Contains("needed but only") && Catch::Contains("make <buffer size=...> smaller"));
  Run refusing("<clients count='1'/>",
               "<plugin name='p' using='damaris_test_recorder.so'><setting key='refuse' value='1'/></plugin>");
  CHECK_THAT(refusing.client(0)("init 0").sentence, Catch::Contains("run.xml:1:") && Catch::Contains("it was asked to refuse"));
}

TEST_CASE("a client in a folder that was removed gets that as the reason, with a server of its own and in place") {
  const std::string cores = GENERATE("1", "0");
  Run run("<dedicated cores='" + cores + "'/><clients count='1'/>");
  const std::string script = "cd \"$1\" && mkdir gone && cd gone && rmdir ../gone && exec \"$0\" ../run.xml";
  TestClient client(std::vector<std::string>{"sh", "-c", script, std::getenv("DAMARIS_TEST_CLIENT"), run.folder().path().string()});
  const Answer answer = client("init 0");
  INFO(answer.sentence);
  CHECK(answer.code != DC_OK);
  CHECK(answer.code != DC_E_INTERNAL);
  CHECK_THAT(answer.sentence, Catch::Contains("../run.xml: ") && Catch::Contains("the working folder is gone") &&
                                  Catch::Contains("start in a folder that is there"));
}

TEST_CASE(
    "more clients than a server may have are refused where the launcher's environment gives them, and the variable is named") {
  Run run("");
  const std::pair<const char*, const char*> given[] = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1048577"},
                                                       {"MPI_LOCALNRANKS", "99999999999999999999"},
                                                       {"SLURM_NTASKS_PER_NODE", "500000000"}};
  const auto [variable, value] = given[GENERATE(0, 1, 2)];
  for (const auto& [name, unused] : given) ::unsetenv(name);
  ::setenv(variable, value, 1);
  const auto server = run.start_server();
  ::unsetenv(variable);
  CHECK(server->wait() == 1);
  CHECK_THAT(server->line(), Catch::StartsWith(std::string("damaris server: ") + variable + "=" + value + " in the environment") &&
                                 Catch::Contains("1048576"));
}

#ifndef __SANITIZE_ADDRESS__  // which needs more address space than the limit leaves
TEST_CASE("clients and threads without room in the buffer are refused before anything is made for them") {
  Run run("<clients threads='256'/>", "");
  Process server({"sh", "-c", "ulimit -v 1000000; exec damaris-server --clients 1048576 \"$0\"", run.config()}, true);
  CHECK(server.wait() == 1);
  CHECK_THAT(server.line(), Catch::Contains("is too small for 1048576 clients with 256 threads"));
}
#endif

TEST_CASE("rule 5: without MPI an action of scope global is a configuration error, detached and in place") {
  const std::string event = "<event name='e' action='record' using='damaris_test_recorder.so' scope='global'/>";
  const std::string cores = GENERATE("1", "0");
  Run run("<dedicated cores='" + cores + "'/>", event);
  const Answer answer = run.client(0)("init 0");
  CHECK(answer.code == DC_E_CONFIG);
  CHECK_THAT(answer.sentence, Catch::Contains("run.xml") && Catch::Contains("scope=\"node\""));
  CHECK(run.regions().empty());
}

TEST_CASE("rule 5: without MPI files of several servers and coordinated writing are configuration errors that say what to do") {
  const auto [setting, instead] =
      GENERATE(std::pair("files='single'", "files=\"per-server\""), std::pair("files='per-group'", "files=\"per-server\""),
               std::pair("schedule='coordinated'", "schedule=\"slots\""));
  Run run("", "<storage><hdf5 " + std::string(setting) + "/></storage>");
  const Answer answer = run.client(0)("init 0");
  CHECK(answer.code == DC_E_CONFIG);
  CHECK_THAT(answer.sentence,
             Catch::Contains("run.xml:1:") && Catch::EndsWith("; start with dc_mpi_initialize, or say " + std::string(instead)));
  CHECK(run.regions().empty());
}

TEST_CASE("damaris-server distinguishes wrong usage from failure by its exit status") {
  CHECK(Process({"damaris-server"}, true).wait() == 2);
  CHECK(Process({"damaris-server", "x.xml", "--clients", "0"}, true).wait() == 2);
  CHECK(Process({"damaris-server", "x.xml", "--clients", "1048577"}, true).wait() == 2);
  Process missing({"damaris-server", "no/such.xml"}, true);
  CHECK(missing.wait() == 1);
  CHECK_THAT(missing.line(), Catch::StartsWith("damaris server: cannot read the configuration 'no/such.xml'"));
  Run in_place("<dedicated cores='0'/>");
  const auto server = in_place.start_server();
  CHECK(server->wait() == 1);
  CHECK_THAT(server->line(), Catch::Contains("the clients do the work in place and need no server"));
}

}  // namespace
}  // namespace damaris::test
