#include "tools/replay_ranks/servers.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::replay {
namespace {

std::string said(int code, const char* call) { return code >= 0 ? "" : format("{} has failed: {}", call, dc_last_error()); }

}  // namespace

Servers::Servers(const Outputs& outputs) {
  for (std::uint32_t i = 0; i < outputs.variables; ++i) {
    names_.push_back(format("w{}", i));
    if (const std::string wrong = said(dc_variable(names_.back().c_str(), &variables_.emplace_back()), "dc_variable");
        !wrong.empty())
      throw Error(DC_E_CONFIG, wrong);
  }
}

// After an error, so that the servers end too.
Servers::~Servers() {
  if (is_open_) finish();
}

std::string Servers::write(const Operation& one, std::uint32_t output, const void* data) {
  const auto extent = static_cast<std::int64_t>(one.bytes);
  if (const std::string wrong = said(dc_set_shape(names_[one.flags].c_str(), 1, &extent), "dc_set_shape"); !wrong.empty())
    return wrong;
  return said(dc_write_to(variables_[one.flags], output, data), "dc_write");
}

std::string Servers::call(const Operation& one, std::uint32_t output, const void* data) {
  if (one.kind == Kind::write) return write(one, output, data);
  return one.kind == Kind::close ? said(dc_end_iteration(output), "dc_end_iteration") : "";
}

std::string Servers::finish() {
  is_open_ = false;
  return said(dc_finalize(), "dc_finalize");
}

}  // namespace damaris::replay
