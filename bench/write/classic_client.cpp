#include "write/classic_client.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "machine.hpp"

namespace damaris::bench {
namespace {

constexpr std::int64_t kTimeoutMs = 60'000;
constexpr std::int64_t kEndMs = 20'000;

}  // namespace

ClassicClient::ClassicClient(const WritePlan& plan, Circle& source)
    : sizes_(plan.sizes),
      source_(source),
      parts_(format("damaris.bench.classic.{}.{}", ::geteuid(), ::getpid()), plan.buffer_bytes, kTimeoutMs),
      server_([this] {
        pin_to_server_core();
        parts_.serve();
      }) {
  int most = 0;
  for (const SizeCase& size : sizes_) most = std::max(most, size.writes);
  sources_.resize(static_cast<std::size_t>(most));
}

ClassicClient::~ClassicClient() {
  parts_.stop();
  server_.wait(kEndMs);
}

Sample ClassicClient::measure(std::size_t size) {
  const SizeCase& here = sizes_[size];
  for (int i = 0; i < here.writes; ++i) sources_[static_cast<std::size_t>(i)] = source_.next(here.bytes);
  int refused = DC_OK;
  const Sample sample = time_calls(here.writes, [&](int i) {
    const int code = parts_.write(i, step_, sources_[static_cast<std::size_t>(i)], here.bytes);
    if (code != DC_OK) refused = code;
  });
  if (refused != DC_OK) throw Error(static_cast<dc_code>(refused), "the classic parts refused a block: their server does not free");
  return sample;
}

void ClassicClient::end_step() {
  const Handed freed = parts_.end_step(step_), sent = parts_.sent();
  if (freed != sent)
    throw Error(DC_E_INTERNAL, format("the classic parts' server freed {} blocks of {} bytes of {} blocks of {} bytes",
                                      freed.blocks, freed.bytes, sent.blocks, sent.bytes));
  ++step_;
}

}  // namespace damaris::bench
