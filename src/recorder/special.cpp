// Functions whose wrappers are not from a table.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>

#include "recorder/chunk.hpp"

using namespace damaris::recorder;

extern "C" {

// A child of vfork runs in its parent's memory, where its calls would count as the parent's. POSIX allows that vfork is fork.
__attribute__((visibility("default"))) pid_t recorder_vfork() __asm__("vfork");
pid_t recorder_vfork() { return ::fork(); }

// It runs no exit handlers, but is no death of a killed process.
__attribute__((visibility("default"), noreturn)) void recorder_exit_now(int status) __asm__("_exit");
void recorder_exit_now(int status) {
  say_last_words("_exit");
  reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "_exit"))(status);
  __builtin_unreachable();
}
__attribute__((visibility("default"), noreturn, alias("_exit"))) void recorder_exit_now_c(int status) __asm__("_Exit");

// A part of the program, `what`, tells that its calls do not come through here.
__attribute__((visibility("default"))) void damaris_recorder_unobserved(const char* what) { put_unobserved(what); }
}
