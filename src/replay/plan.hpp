// A plan: the I/O of a program, what its processes wait for, and how long they compute between.
// Used by: the evaluator, the player and the verb; read once, then only looked at, by any thread.
// Before it: the plan's text (reader.hpp). After it: evaluate.hpp, player.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace damaris::replay {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

enum class Kind : std::uint8_t {
  compute,
  open,
  read,
  write,
  sync,
  stat,
  truncate,
  remove,
  close,
  post,
  get,
  await,
  barrier,
  all,
  from_one,
  to_one,
  scan
};
constexpr std::string_view kLetters = "corwsmtuxpgkbafeq";  // of the kinds, in their order

constexpr bool is_io(Kind kind) { return kind >= Kind::open && kind <= Kind::close; }
constexpr bool is_message(Kind kind) { return kind >= Kind::post && kind <= Kind::await; }
constexpr bool is_collective(Kind kind) { return kind >= Kind::barrier; }

// Flags of an operation.
enum : std::uint8_t { kRead = 1, kWrite = 2, kCreate = 4, kTruncate = 8, kAppend = 16 };  // of an open
enum : std::uint8_t { kSync = 1 };                                                        // of a post: it waits for its receiver
enum : std::uint8_t { kRoot = 1 };                                                        // of a collective

struct Operation {
  std::uint64_t ns = 0;      // of I/O what it took in the recording, 0 if unknown; of the others their own cost
  std::uint64_t offset = 0;  // in bytes; of a collective its place among the members
  std::uint64_t bytes = 0;
  std::uint32_t object = 0;  // index of the file, message or collective
  std::uint32_t line = 0;
  Kind kind = Kind::compute;
  std::uint8_t flags = 0;
};

struct File {
  std::string name;  // relative, with no component . or ..; "": nobody uses it
  std::uint64_t initial_bytes = 0;
  std::uint32_t number = 0, line = 0;
};

// Its operations are those of [begin, end) of the plan.
struct Process {
  std::uint32_t number = 0, line = 0;
  std::uint32_t begin = 0, end = 0;
  std::string host, pid;                 // "": unknown; threads of a process have one pid
  std::vector<std::uint32_t> inherited;  // files that it uses without opening them: they were open before
};

// Indices of its operations, or kNone.
struct Message {
  std::uint32_t number = 0, post = kNone, get = kNone, await = kNone;
};

struct Member {
  std::uint32_t operation = kNone, process = kNone;
};

// Its members are those of [first, first + count) of the plan, in the order of rank.
struct Collective {
  std::uint32_t number = 0, first = 0, count = 0;
  std::uint32_t root = kNone;  // place among the members
  Kind kind = Kind::barrier;
};

struct Plan {
  // The index of the process that does an operation.
  std::uint32_t process_of(std::uint32_t operation) const;
  // The operation as its line says it, without its comment: "g 17".
  std::string text_of(std::uint32_t operation) const;
  // Bytes on disk when all that is written is there at once.
  std::uint64_t bytes_needed() const;

  std::string name, layer = "posix";
  std::uint64_t recorded_ns = 0;  // 0: unknown
  std::vector<File> files;
  std::vector<Process> processes;
  std::vector<Operation> operations;
  std::vector<Message> messages;
  std::vector<Collective> collectives;
  std::vector<Member> members;
};

}  // namespace damaris::replay
