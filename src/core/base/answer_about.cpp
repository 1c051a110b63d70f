#include "core/base/answer_about.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "core/base/file.hpp"

namespace damaris {
namespace {

struct Question {
  std::string path;
  std::weak_ptr<const int> lasts;
};

struct Questions {
  std::mutex mutex;
  std::vector<Question> all;  // few: a thread each
};

// They outlive all static objects, whose ends may ask.
Questions& questions() {
  alignas(Questions) static std::array<std::byte, sizeof(Questions)> memory;
  static Questions& questions = *new (memory.data()) Questions;
  return questions;
}

}  // namespace

bool is_unanswered(const std::string& path) {
  const std::string file = absolute_path(path);
  const std::lock_guard<std::mutex> lock(questions().mutex);
  const auto& all = questions().all;
  return std::any_of(all.begin(), all.end(), [&](const Question& one) { return one.path == file && !one.lasts.expired(); });
}

void remember_unanswered(const std::string& path, std::weak_ptr<const int> question) {
  Question mine = {absolute_path(path), std::move(question)};
  const std::lock_guard<std::mutex> lock(questions().mutex);
  auto& all = questions().all;
  all.erase(std::remove_if(all.begin(), all.end(), [](const Question& one) { return one.lasts.expired(); }), all.end());
  all.push_back(std::move(mine));
}

}  // namespace damaris
