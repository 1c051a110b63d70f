// damaris-server: the server as a process of its own, without MPI. Clients attach with dc_initialize.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "api/attach.hpp"
#include "config/config.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/region_names.hpp"
#include "server/start.hpp"
#include "tools/command_line.hpp"

namespace {

using damaris::Error;
using damaris::format;

std::atomic<bool> stop{false};

extern "C" void on_signal(int) { stop.store(true); }

struct Options {
  std::string config;
  int clients = 0;
  bool detach = false;
  int ready_fd = -1;
};

// The number of processes on this node that the launcher's environment gives; 1 if it gives none.
int clients_of_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}) {
    const char* value = std::getenv(variable);
    const long long clients = value == nullptr ? 0 : std::strtoll(value, nullptr, 10);
    if (clients > damaris::model::kMostClients)
      throw Error(DC_E_CONFIG,
                  format("{}={} in the environment gives the server more clients than the {} that it may have; unset it, "
                         "or set <clients count=\"N\"> in the XML",
                         variable, value, damaris::model::kMostClients));
    if (clients > 0) return static_cast<int>(clients);
  }
  return 1;
}

// The number of clients to wait for: --clients, the XML, the launcher's local size, else one.
int expected_clients(const Options& options, const damaris::model::Model& model) {
  if (options.clients > 0) return options.clients;
  return model.architecture.clients > 0 ? model.architecture.clients : clients_of_launcher();
}

void check_startable(const damaris::model::Model& model) {
  if (model.architecture.dedicated_cores == 0)
    throw Error(DC_E_CONFIG,
                format("{} says <dedicated cores=\"0\"/>: the clients do the work in place and need no server", model.file));
  if (damaris::model::needs_mpi(model)) throw Error(DC_E_CONFIG, damaris::model::refusal_without_mpi(model));
}

damaris::server::Configuration read(const Options& options) {
  damaris::server::Configuration read;
  read.xml = damaris::read_config_file(options.config);
  read.model = std::make_shared<const damaris::model::Model>(damaris::config::parse(read.xml, options.config));
  return read;
}

// A server started by a client or with --detach has no terminal.
void start_log(const Options& options, const damaris::model::Model& model) {
  const damaris::LogLevel level = damaris::log_level(model.log.level);
  if (options.ready_fd < 0 || !model.log.file.empty()) return damaris::configure_log(level, model.log.file, "server 0");
  damaris::configure_log(level, damaris::model::background_log_file(model), "server 0", damaris::LogFileCreation::lazy);
}

std::unique_ptr<damaris::server::Serving> start(const Options& given) {
  const damaris::server::Configuration configuration = read(given);
  start_log(given, *configuration.model);
  check_startable(*configuration.model);
  damaris::server::StartOptions options;
  options.mode = damaris::server::ServerMode::detached;
  options.clients = expected_clients(given, *configuration.model);
  options.holds_lock = given.ready_fd >= 0;
  options.stop = &stop;
  return damaris::server::start_server(configuration, std::move(options));
}

void report_to_starter(const Options& options, const std::string& text) {
  if (options.ready_fd < 0) return;
  if (::write(options.ready_fd, text.data(), text.size()) < 0) return;  // the starter is gone
  ::close(options.ready_fd);
}

void start_in_background(const Options& options) {
  const auto model = read(options).model;
  damaris::shm::StartLock lock(damaris::shm::run_key(*model));
  lock.take(model->architecture.attach_timeout_ms, &stop);
  damaris::api::spawn_server(options.config, options.clients, 60'000);
}

void report_to_starter(const Options& options, dc_code code, const std::string& sentence) {
  report_to_starter(options, format("{} {}", static_cast<int>(code), sentence));
}

int serve(const Options& options) {
  std::unique_ptr<damaris::server::Serving> server;
  try {
    server = start(options);
  } catch (const Error& error) {
    report_to_starter(options, error.code(), error.sentence());
    throw;
  } catch (const std::bad_alloc&) {
    report_to_starter(options, DC_E_MEMORY, "damaris-server is out of memory; give it more (ulimit -v, the job's memory)");
    throw;
  } catch (const std::exception& error) {
    report_to_starter(options, DC_E_INTERNAL, format("damaris-server cannot start: {}", error.what()));
    throw;
  }
  report_to_starter(options, "ok");
  const damaris::Status result = server->run(&stop);
  if (result.code == DC_OK) return 0;
  damaris::tools::print_error("damaris server", result.message);
  return 1;
}

// The options and their help.
void describe(damaris::tools::CommandLine& command, Options& options) {
  command.add_option("FILE", options.config, "The XML file, the same as the clients'").required().type_name("");
  command.add_option("--clients", options.clients, "Clients on this node (default: what the XML\nsays, else the launcher, else 1)")
      .range(1, damaris::model::kMostClients)
      .type_name("N");
  command.add_flag("--detach", options.detach, "Go to the background once ready; survives the\nend of the shell and of mpirun");
  command.add_option("--ready-fd", options.ready_fd, "For the client that starts the server: descriptor to say 'ok' to").hidden();
  command.footer(
      "SIGTERM and SIGINT: store what was published, then leave.\n"
      "Exit status: 0 success, 1 a failure was reported, 2 wrong usage.\n");
}

}  // namespace

int main(int argc, char** argv) {
  damaris::prepare_own_process();
  Options options;
  damaris::tools::CommandLine command(
      "Serves the clients of one node from a process of its own, without MPI, until\nall have finalized and their data are "
      "durable.",
      "damaris server");
  describe(command, options);
  return command.run(argc, argv, [&] {
    std::signal(SIGTERM, on_signal);
    std::signal(SIGINT, on_signal);
    damaris::reset_inherited_signals();
    if (!options.detach) return serve(options);
    start_in_background(options);
    return 0;
  });
}
