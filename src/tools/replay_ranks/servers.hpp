// Outputs as steps of Damaris: each write is one of a variable, which servers store.
// Used by: each rank of a replay that is a client, its one thread.
// Before it: dc_mpi_initialize with an XML whose variables are w0, w1 and so on. After it: the servers.
#pragma once

#include <damaris/damaris.h>

#include <string>
#include <vector>

#include "replay/outlet.hpp"
#include "replay/outputs.hpp"

namespace damaris::replay {

class Servers : public Outlet {
 public:
  explicit Servers(const Outputs& outputs);
  ~Servers() override;
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  std::string call(const Operation& one, std::uint32_t output, const void* data) override;
  std::string finish() override;

 private:
  std::string write(const Operation& one, std::uint32_t output, const void* data);

  std::vector<std::string> names_;
  std::vector<dc_variable_t*> variables_;
  bool is_open_ = true;
};

}  // namespace damaris::replay
