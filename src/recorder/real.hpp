// The function behind a wrapper, in the library that the program would have called.
// Used by: generated wrappers, any thread.
// Before it: the program called the wrapper. After it: the call goes on.
#pragma once

#include <cstdint>

namespace damaris::recorder {

// Where the loader would find `name` without the recorder: behind it, else among the libraries of the caller, which dlopen may have given a
// scope of their own. With `of_caller` the caller's come first: a process may hold several libraries with the same functions. nullptr: nowhere.
void* find_behind(const char* name, const void* wrapper, const void* caller, bool of_caller);
// Of the library that has `function`.
void* find_beside(const void* function, const char* name);
template <class Function>
void find(const void* beside, const char* name, Function& function) {
  function = reinterpret_cast<Function>(find_beside(beside, name));
}

// Those of the layers posix and stdio, and of special.cpp, all of them.
void look_up_posix();
void look_up_stdio();
void look_up_special();

// The same for all callers.
template <class Function>
class Real {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  // Before a call needs it: the loader's lock may be another's then, and dlerror the program's.
  void look() { function(nullptr, nullptr); }
  Function* function(const void* wrapper, const void* caller) {
    Function* known = __atomic_load_n(&function_, __ATOMIC_RELAXED);
    if (__builtin_expect(known == nullptr, 0)) {
      known = reinterpret_cast<Function*>(find_behind(name_, wrapper, caller, false));
      __atomic_store_n(&function_, known, __ATOMIC_RELAXED);
    }
    return known;
  }

 private:
  const char* name_;
  Function* function_ = nullptr;
};

// One for each place of a call: a look-up takes a microsecond. A place is kept for good in a free entry, else looked up each time.
template <class Function>
class RealOfCaller {
 public:
  constexpr explicit RealOfCaller(const char* name) : name_(name) {}
  Function* function(const void* wrapper, const void* caller) {
    Entry& entry = entries_[reinterpret_cast<std::uintptr_t>(caller) / 4 % kEntries];
    if (__atomic_load_n(&entry.caller, __ATOMIC_ACQUIRE) == caller) return entry.function;
    auto* const found = reinterpret_cast<Function*>(find_behind(name_, wrapper, caller, true));
    const void* nobody = nullptr;
    if (__atomic_compare_exchange_n(&entry.claimed, &nobody, caller, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      entry.function = found;
      __atomic_store_n(&entry.caller, caller, __ATOMIC_RELEASE);
    }
    return found;
  }

 private:
  static constexpr unsigned kEntries = 64;
  struct Entry {
    const void *claimed, *caller;
    Function* function;
  };
  const char* name_;
  Entry entries_[kEntries] = {};
};

}  // namespace damaris::recorder
