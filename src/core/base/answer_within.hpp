// Asks what a disk that hangs may never answer, on a thread of its own.
// Used by: looks at the log, the configuration and the output's folder; any thread, off the hot path.
// Before it: a call that may block for ever. After it: its result, or none.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace damaris {

// Whether `work` has returned within `timeout_ms`; else its thread is left behind, so it must own what it uses. Throws std::system_error if
// the process may have no more threads.
bool returns_within(std::int64_t timeout_ms, std::function<void()> work);

// The result of `work`; nothing if it has not returned within `timeout_ms`: its thread is left behind then, so it must own what it uses.
// Throws what `work` throws, and std::system_error if the process may have no more threads.
template <class Work>
auto answer_within(std::int64_t timeout_ms, Work work) -> std::optional<decltype(work())> {
  struct Question {
    Work work;
    std::optional<decltype(work())> answer;
    std::exception_ptr error;
  };
  const auto question = std::make_shared<Question>(Question{std::move(work), {}, {}});
  const auto ask = [question] {
    Work own = std::move(question->work);  // it ends on this thread, too
    try {
      question->answer.emplace(own());
    } catch (...) {
      question->error = std::current_exception();
    }
  };
  if (!returns_within(timeout_ms, ask)) return std::nullopt;
  if (question->error) std::rethrow_exception(question->error);
  return std::move(question->answer);
}

// The same, but where the process may have no more threads it waits as long as `work` takes, and may begin it twice.
template <class Work>
auto answer_within_or_wait(std::int64_t timeout_ms, Work work) -> std::optional<decltype(work())> try {
  return answer_within(timeout_ms, work);
} catch (const std::system_error&) {
  return work();
}

}  // namespace damaris
