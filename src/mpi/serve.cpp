#include "mpi/serve.hpp"

#include <atomic>
#include <csignal>

namespace damaris::mpi {
namespace {

std::atomic<bool> stop{false};

extern "C" void damaris_mpi_on_sigterm(int) { stop.store(true); }

class DrainOnSigterm {
 public:
  DrainOnSigterm() {
    stop.store(false);  // of an earlier run in this process
    struct sigaction action = {};
    action.sa_handler = damaris_mpi_on_sigterm;
    sigaction(SIGTERM, &action, &before_);
  }
  ~DrainOnSigterm() { sigaction(SIGTERM, &before_, nullptr); }
  DrainOnSigterm(const DrainOnSigterm&) = delete;
  DrainOnSigterm& operator=(const DrainOnSigterm&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace

Status serve(server::Serving& server) {
  const DrainOnSigterm drain;
  return server.run(&stop);
}

}  // namespace damaris::mpi
