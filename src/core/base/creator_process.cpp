#include "core/base/creator_process.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace damaris {
namespace {

using Word = std::atomic<std::uint64_t>;

Word plain_word{0};

// A page that the kernel clears in every fork. Before Linux 4.14 an atfork handler clears a word, in children of fork() only.
Word& make_word() noexcept {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && ::madvise(page, bytes, MADV_WIPEONFORK) == 0) return *new (page) Word(0);
  if (page != MAP_FAILED) ::munmap(page, bytes);
  ::pthread_atfork(nullptr, nullptr, [] { plain_word.store(0); });
  return plain_word;
}

Word& word_of_process() noexcept {
  static Word& word = make_word();
  return word;
}

// A fork continues its parent's count, so no mark that it copied ever equals its own.
std::atomic<std::uint64_t> last_mark{0};

std::uint64_t mark_of_process() noexcept {
  Word& word = word_of_process();
  std::uint64_t mark = word.load();
  if (mark == 0) {
    const std::uint64_t fresh = ++last_mark;
    if (word.compare_exchange_strong(mark, fresh)) mark = fresh;
  }
  return mark;
}

}  // namespace

CreatorProcess::CreatorProcess() noexcept : word_(&word_of_process()), mark_(mark_of_process()) {}

}  // namespace damaris
