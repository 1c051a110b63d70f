#include "write/client.hpp"

#include <cstring>

#include "core/base/error.hpp"
#include "core/shm/copy_choice.hpp"

namespace damaris::bench {
namespace {

constexpr int kFlushMs = 60'000;

void check(int code) {
  if (code != DC_OK) throw Error(static_cast<dc_code>(code), dc_last_error());
}

}  // namespace

const char* method_name(Method method) {
  switch (method) {
    case Method::plain_memcpy:
      return "memcpy";
    case Method::write_to:
      return "write_to";
    case Method::write_by_name:
      return "by name";
    case Method::alloc_commit:
      return "alloc+commit";
  }
  return "";
}

WriteClient::WriteClient(const std::string& config, const WritePlan& plan, Circle& source, Circle& target, int id)
    : sizes_(plan.sizes), source_(source), target_(target) {
  check(dc_initialize(config.c_str(), id));
  for (const SizeCase& size : sizes_) {
    std::vector<Target> row(static_cast<std::size_t>(size.writes));
    for (int i = 0; i < size.writes; ++i) {
      Target& to = row[static_cast<std::size_t>(i)];
      to.name = variable_name(size.bytes, i);
      check(dc_variable(to.name.c_str(), &to.handle));
    }
    targets_.push_back(std::move(row));
  }
}

WriteClient::~WriteClient() {
  const int code = dc_finalize();
  static_cast<void>(code);  // the figures have been reported already
}

inline int WriteClient::call(Method method, const Target& to, std::uint64_t bytes) {
  switch (method) {
    case Method::plain_memcpy:
      std::memcpy(to.target, to.source, bytes);
      return DC_OK;
    case Method::write_to:
      return dc_write_to(to.handle, step_, to.source);
    case Method::write_by_name:
      return dc_write(to.name.c_str(), step_, to.source);
    case Method::alloc_commit: {
      void* data = nullptr;
      const int code = dc_alloc(to.name.c_str(), step_, 0, &data);
      if (code != DC_OK) return code;
      std::memcpy(data, to.source, bytes);
      return dc_commit(to.name.c_str(), step_, 0);
    }
  }
  return DC_OK;
}

void WriteClient::decide_copies() {
  constexpr int kTrials = static_cast<int>(shm::CopyChoice::kTries * shm::kCopyMethods.size());
  for (std::size_t size = 0; size < sizes_.size(); ++size)
    for (int tried = 0; sizes_[size].bytes >= shm::kLargeCopyBytes && tried < kTrials; tried += sizes_[size].writes) {
      measure(Method::write_to, size);
      end_step(0);
    }
}

void WriteClient::place(std::size_t size, int index) {
  Target& to = targets_[size][static_cast<std::size_t>(index)];
  to.source = source_.next(sizes_[size].bytes);
  to.target = target_.next(sizes_[size].bytes);
}

Sample WriteClient::measure(Method method, std::size_t size) {
  const std::vector<Target>& row = targets_[size];
  const std::uint64_t bytes = sizes_[size].bytes;
  for (int i = 0; i < sizes_[size].writes; ++i) place(size, i);
  int code = DC_OK;
  const Sample sample =
      time_calls(sizes_[size].writes, [&](int i) { code |= call(method, row[static_cast<std::size_t>(i)], bytes); });
  check(code);
  return sample;
}

Sample WriteClient::measure_one(Method method, std::size_t size, int index) {
  place(size, index);
  int code = DC_OK;
  const Target& to = targets_[size][static_cast<std::size_t>(index)];
  const Sample sample = time_calls(1, [&](int) { code = call(method, to, sizes_[size].bytes); });
  check(code);
  return sample;
}

void WriteClient::end_step(int behind) {
  check(dc_end_iteration(step_));
  if (step_ >= behind) check(dc_flush(step_ - behind, kFlushMs));
  ++step_;
}

}  // namespace damaris::bench
