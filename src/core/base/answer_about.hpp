// Asks about a file as answer_within does, but waits only once for a disk that hangs: not again before it has answered.
// Used by: looks at the log; any thread, off the hot path.
// Before it: the path of a file, and a call that may block for ever. After it: its result, or none.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/answer_within.hpp"

namespace damaris {

// Whether a question about the file, by whatever path that is lexically the same, has waited in vain and still has no answer. Looks at no
// disk.
bool is_unanswered(const std::string& path);
// The question lasts as long as `question`, which its thread owns.
void remember_unanswered(const std::string& path, std::weak_ptr<const int> question);

// As answer_within; nothing at once if is_unanswered(path).
template <class Work>
auto answer_about(const std::string& path, std::int64_t timeout_ms, Work work) -> std::optional<decltype(work())> {
  if (is_unanswered(path)) return std::nullopt;
  auto question = std::make_shared<const int>();
  const std::weak_ptr<const int> open = question;
  auto answer = answer_within(timeout_ms, [question = std::move(question), work = std::move(work)] { return work(); });
  if (!answer) remember_unanswered(path, open);
  return answer;
}

}  // namespace damaris
