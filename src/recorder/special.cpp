// Functions whose wrappers are not from a table: how a process ends, and how a program takes the place of another.
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "recorder/chunk.hpp"
#include "recorder/real.hpp"

using namespace damaris::recorder;

namespace {

using Words = char* const[];
constinit Real<void(int)> real_exit{"_exit"};
constinit Real<int(const char*, Words, Words)> real_execve{"execve"};
constinit Real<int(const char*, Words)> real_execv{"execv"};
constinit Real<int(const char*, Words)> real_execvp{"execvp"};
constinit Real<int(const char*, Words, Words)> real_execvpe{"execvpe"};
constinit Real<int(int, Words, Words)> real_fexecve{"fexecve"};
constinit Real<int(int, const char*, Words, Words, int)> real_execveat{"execveat"};

// If the real function returns, the program goes on: calls behind these last words tell so.
template <class Real, class... Arguments>
int replace(Real& real, Arguments... arguments) {
  say_last_words("exec");
  return real.function(nullptr, nullptr)(arguments...);
}

// The arguments of execl: up to a null pointer, which is one of them.
std::size_t count_of(const char* first, va_list list) {
  std::size_t count = 1;
  for (const char* one = first; one != nullptr; one = va_arg(list, const char*)) ++count;
  return count;
}

}  // namespace

#define DAMARIS_WRAPPER(result, wrapper, name, ...)                                            \
  extern "C" __attribute__((visibility("default"))) result wrapper(__VA_ARGS__) __asm__(name); \
  extern "C" result wrapper(__VA_ARGS__)

// It runs no exit handlers, but is no death of a killed process.
extern "C" __attribute__((visibility("default"), noreturn)) void wrap_exit_now(int status) __asm__("_exit");
extern "C" void wrap_exit_now(int status) {
  say_last_words("_exit");
  real_exit.function(nullptr, nullptr)(status);
  __builtin_unreachable();
}
extern "C" __attribute__((visibility("default"), noreturn, alias("_exit"))) void wrap_exit_now_c(int status) __asm__("_Exit");

DAMARIS_WRAPPER(int, wrap_execve, "execve", const char* path, char* const words[], char* const environment[]) {
  return replace(real_execve, path, words, environment);
}
DAMARIS_WRAPPER(int, wrap_execv, "execv", const char* path, char* const words[]) { return replace(real_execv, path, words); }
DAMARIS_WRAPPER(int, wrap_execvp, "execvp", const char* name, char* const words[]) { return replace(real_execvp, name, words); }
DAMARIS_WRAPPER(int, wrap_execvpe, "execvpe", const char* name, char* const words[], char* const environment[]) {
  return replace(real_execvpe, name, words, environment);
}
DAMARIS_WRAPPER(int, wrap_fexecve, "fexecve", int file, char* const words[], char* const environment[]) {
  return replace(real_fexecve, file, words, environment);
}
DAMARIS_WRAPPER(int, wrap_execveat, "execveat", int folder, const char* path, char* const words[], char* const environment[],
                int flags) {
  return replace(real_execveat, folder, path, words, environment, flags);
}

// Calls `call` with the arguments as an array, and behind them the environment of execle.
#define DAMARIS_LISTED(call)                                                    \
  va_list list;                                                                 \
  va_start(list, first);                                                        \
  const std::size_t count = count_of(first, list);                              \
  va_end(list);                                                                 \
  char* words[count];                                                           \
  va_start(list, first);                                                        \
  words[0] = const_cast<char*>(first);                                          \
  for (std::size_t i = 1; i < count; ++i) words[i] = va_arg(list, char*);       \
  [[maybe_unused]] char* const* const environment = va_arg(list, char* const*); \
  va_end(list);                                                                 \
  return call

DAMARIS_WRAPPER(int, wrap_execl, "execl", const char* path, const char* first, ...) {
  DAMARIS_LISTED(replace(real_execv, path, words));
}
DAMARIS_WRAPPER(int, wrap_execlp, "execlp", const char* name, const char* first, ...) {
  DAMARIS_LISTED(replace(real_execvp, name, words));
}
DAMARIS_WRAPPER(int, wrap_execle, "execle", const char* path, const char* first, ...) {
  DAMARIS_LISTED(replace(real_execve, path, words, environment));
}

extern "C" {

// For vfork.S: its child runs in its parent's memory, so what it does until it executes a program is not recorded.
__attribute__((visibility("hidden"))) void damaris_in_vfork_child() {
  this_thread.in_vfork = true;
  this_thread.quiet = kEverything;
}
__attribute__((visibility("hidden"))) void damaris_after_vfork() {
  this_thread.in_vfork = false;
  this_thread.quiet = nullptr;
}
__attribute__((visibility("hidden"))) long damaris_failed_vfork(long error) {
  errno = static_cast<int>(-error);
  return -1;
}

#if !defined(__x86_64__)
__attribute__((visibility("default"))) pid_t wrap_vfork() __asm__("vfork");
pid_t wrap_vfork() { return ::fork(); }
#endif

// A part of the program, `what`, tells that its calls do not come through here.
__attribute__((visibility("default"))) void damaris_recorder_unobserved(const char* what) { put_unobserved(what); }
}

void damaris::recorder::look_up_special() {
  real_exit.look();
  real_execve.look();
  real_execv.look();
  real_execvp.look();
  real_execvpe.look();
  real_fexecve.look();
  real_execveat.look();
}
