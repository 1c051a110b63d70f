#include "replay/reader.hpp"

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"

namespace damaris::replay {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

template <class Number>
bool is_number(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text) { plan_.name = name; }

  Plan read() {
    while (next_line()) {
      if (line_ == 1) {
        first_line();
      } else if (!rest_.empty()) {
        const std::string_view word = take_word(rest_);
        if (word.size() == 1) {
          operation(word[0]);
        } else {
          header(word);
        }
      }
    }
    if (line_ == 0) wrong("the plan is empty; it begins with 'damaris plan 1'");
    end_process();
    check_folders();
    link_messages(plan_);
    link_collectives(plan_, declared_);
    check_files(plan_);
    return std::move(plan_);
  }

 private:
  [[noreturn]] void wrong(const std::string& sentence) const { fail(plan_, line_, sentence); }

  bool next_line() {
    if (text_.empty()) return false;
    if (++line_ == kNone) wrong("the plan has too many lines; plan a part of the recording");
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    const std::string_view line = text_.substr(0, end);
    const std::size_t comment = std::min(line.find('#'), line.size());
    rest_ = stripped(line.substr(0, comment));
    comment_ = line.substr(std::min(comment + 1, line.size()));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return true;
  }

  // So that no sum of some of them is too large.
  void add_up(std::uint64_t& sum, std::uint64_t more, const char* what, const char* unit) const {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    if (more > most - sum) wrong(format("{} add up to more than {} {} here; make them smaller", what, most, unit));
    sum += more;
  }

  void first_line() {
    std::uint32_t version = 0;
    if (take_word(rest_) != "damaris" || take_word(rest_) != "plan" || !is_number(take_word(rest_), version))
      wrong("this is no plan, whose first line is 'damaris plan 1'; make one with damaris plan");
    if (version != 1)
      wrong(format("the plan is of version {}, this damaris reads version 1; make it again with this damaris", version));
  }

  template <class Number = std::uint64_t>
  Number number(const char* what) {
    const std::string_view word = take_word(rest_);
    Number found = 0;
    if (word.empty()) wrong(format("{} is missing; see docs/plan-format.md", what));
    if (!is_number(word, found))
      wrong(format("'{}' is no {}, which is a whole number from 0 to {}", word, what, std::numeric_limits<Number>::max()));
    return found;
  }
  std::uint32_t short_number(const char* what) { return number<std::uint32_t>(what); }

  void end_of_line() {
    if (const std::string_view word = take_word(rest_); !word.empty())
      wrong(format("'{}' is one word too many; comments begin with '#'", word));
  }

  void header(std::string_view word) {
    if (word == "process") return process();
    if (!plan_.processes.empty())
      wrong(format("'{}' stands behind a process; the lines before the first process describe the plan", word));
    if (word == "layer") {
      plan_.layer = take_word(rest_);
      if (plan_.layer != "posix" && plan_.layer != "mpiio")
        wrong(format("the layer '{}' is unknown; known: posix, mpiio", plan_.layer));
    } else if (word == "recorded") {
      plan_.recorded_ns = number("time in ns");
    } else if (word == "file") {
      return file();
    } else if (word == "collective") {
      return collective();
    } else {
      wrong(format("'{}' is unknown; known: layer, recorded, file, collective, process, and the operations {}", word,
                   join(kLetters, " ")));
    }
    end_of_line();
  }

  void file() {
    File one;
    one.number = short_number("number of a file");
    one.initial_bytes = number("number of bytes");
    add_up(bytes_, one.initial_bytes, "the bytes of the plan", "bytes");
    one.line = line_;
    one.name = unescaped(stripped(rest_));
    check_name(one.name);
    if (!file_of_.emplace(one.number, static_cast<std::uint32_t>(plan_.files.size())).second)
      wrong(format("file {} is there twice; give this one another number", one.number));
    if (!names_.emplace(one.name, line_).second) wrong(format("the file '{}' is there twice; use its first number", one.name));
    plan_.files.push_back(std::move(one));
  }

  std::string unescaped(std::string_view text) const {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
      unsigned byte = static_cast<unsigned char>(text[i]);
      if (text[i] == '%') {
        const std::string_view digits = text.substr(i + 1, 2);
        if (digits.size() != 2 || std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr != digits.data() + 2)
          wrong(format("'%{}' is no escape; write a percent sign as %25", digits));
        i += 2;
      }
      if (byte == 0) wrong("a name of a file has no byte 0; remove it");
      name += static_cast<char>(byte);
    }
    return name;
  }

  // A name that cannot lead out of the folder of the replay.
  void check_name(const std::string& name) const {
    if (name.empty()) wrong("the name of the file is missing; it follows its number and its bytes");
    if (name[0] == '/') wrong(format("'{}' is absolute; a replay stays in its folder, so name it relative to that", name));
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t end = std::min(name.find('/', at), name.size());
      const std::string part = name.substr(at, end - at);
      if (part.empty() || part == "." || part == "..") wrong(format("'{}' has a part '{}'; name the file without it", name, part));
      at = end + 1;
    }
  }

  void check_folders() const {
    for (const File& one : plan_.files)
      for (std::size_t slash = one.name.find('/'); slash != std::string::npos; slash = one.name.find('/', slash + 1))
        if (const auto file = names_.find(one.name.substr(0, slash)); file != names_.end())
          fail(plan_, one.line,
               format("'{}' is a file in line {}, and a folder of '{}'; give one of them another name", file->first, file->second,
                      one.name));
  }

  // Members are numbers of processes, and ranges: 0 2-5.
  void collective() {
    Declared one;
    one.number = short_number("number of a collective");
    one.line = line_;
    for (std::string_view word; !(word = take_word(rest_)).empty();) {
      const std::size_t dash = std::min(word.find('-'), word.size());
      std::uint32_t from = 0, to = 0;
      const bool is_range = dash < word.size();
      if (!is_number(word.substr(0, dash), from) || (is_range && !is_number(word.substr(dash + 1), to)) || (is_range && to < from))
        wrong(format("'{}' is no process; members are numbers such as 3, and ranges such as 0-7", word));
      one.processes.emplace_back(from, is_range ? to : from);
    }
    declared_.push_back(std::move(one));
  }

  void process() {
    end_process();
    Process one;
    one.number = short_number("number of a process");
    one.line = line_;
    one.begin = static_cast<std::uint32_t>(plan_.operations.size());
    if (!processes_.insert(one.number).second) wrong(format("process {} is there twice; give this one another number", one.number));
    for (std::string_view word; !(word = take_word(rest_)).empty();)
      if (word == "host" || word == "pid") (word == "host" ? one.host : one.pid) = take_word(rest_);
    plan_.processes.push_back(std::move(one));
  }

  void end_process() {
    if (!plan_.processes.empty()) plan_.processes.back().end = static_cast<std::uint32_t>(plan_.operations.size());
  }

  void operation(char letter) {
    const std::size_t kind = kLetters.find(letter);
    if (kind == std::string_view::npos) wrong(format("the operation '{}' is unknown; known: {}", letter, join(kLetters, " ")));
    if (plan_.processes.empty()) wrong("an operation stands before the first 'process' line, which says whose it is");
    if (plan_.operations.size() >= kNone - 1) wrong("the plan has too many operations; plan a part of the recording");
    Operation one;
    one.kind = static_cast<Kind>(kind);
    one.line = line_;
    if (one.kind == Kind::compute) {
      one.ns = number("time in ns");
    } else if (is_io(one.kind)) {
      io(one);
    } else {
      communication(one);
    }
    end_of_line();
    add_up(time_, one.ns, "the times of the plan", "ns");
    if (one.kind == Kind::write) add_up(bytes_, one.bytes, "the bytes of the plan", "bytes");
    plan_.operations.push_back(one);
  }

  void io(Operation& one) {
    const std::uint32_t number_of_file = short_number("number of a file");
    const auto found = file_of_.find(number_of_file);
    if (found == file_of_.end())
      wrong(
          format("there is no file {}; add a line 'file {} BYTES NAME' before the first process", number_of_file, number_of_file));
    one.object = found->second;
    if (one.kind == Kind::open) one.flags = flags_of(take_word(rest_));
    if (one.kind == Kind::read || one.kind == Kind::write) one.offset = number("offset");
    if (one.kind == Kind::read || one.kind == Kind::write || one.kind == Kind::truncate) one.bytes = number("number of bytes");
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (one.offset > most || one.bytes > most - one.offset)
      wrong(format("offset and bytes reach beyond {}, the largest file; make them smaller", most));
    std::string_view comment = comment_;
    if (!is_number(take_word(comment), one.ns)) one.ns = 0;
  }

  std::uint8_t flags_of(std::string_view mode) const {
    constexpr std::string_view letters = "rwcta";
    unsigned flags = 0;
    for (const char letter : mode) {
      const std::size_t at = letters.find(letter);
      if (at == std::string_view::npos)
        wrong(format("'{}' is no way to open a file; it has letters r w c t a, such as rw or wct", mode));
      flags |= 1U << at;
    }
    if ((flags & (kRead | kWrite)) == 0)
      wrong("how the file is opened is missing: r, w or rw, with c to create, t to truncate, a to append");
    return static_cast<std::uint8_t>(flags);
  }

  void communication(Operation& one) {
    one.object = short_number(is_message(one.kind) ? "number of a message" : "number of a collective");
    if (one.kind == Kind::await) return;
    one.ns = number("cost in ns");
    std::string_view word = take_word(rest_);
    if (one.kind == Kind::post && is_number(word, one.bytes)) word = take_word(rest_);
    const bool has_root = one.kind == Kind::from_one || one.kind == Kind::to_one;
    if (one.kind == Kind::post && word == "sync") {
      one.flags = kSync;
    } else if (has_root && word == "root") {
      one.flags = kRoot;
    } else if (!word.empty()) {
      wrong(format("'{}' is one word too many; a post may end in 'sync', an operation f or e in 'root'", word));
    }
  }

  std::string_view text_, rest_, comment_;
  std::uint32_t line_ = 0;
  std::uint64_t time_ = 0, bytes_ = 0;  // of all lines so far
  Plan plan_;
  std::unordered_map<std::uint32_t, std::uint32_t> file_of_;  // by number
  std::unordered_map<std::string, std::uint32_t> names_;      // of the files, with their lines
  std::unordered_set<std::uint32_t> processes_;
  std::vector<Declared> declared_;
};

}  // namespace

void fail(const Plan& plan, std::uint32_t line, const std::string& sentence) {
  throw Error(DC_E_CONFIG, format("{}:{}: {}", plan.name, line, sentence));
}

Plan read_plan(std::string_view text, const std::string& name) { return Reader(text, name).read(); }

Plan read_plan_file(const std::string& path) {
  const StoredFileReader file(path);
  if (!file.is_open()) throw Error(DC_E_CONFIG, format("cannot read the plan '{}': {}", path, why_not_read(path, errno)));
  std::string text;
  constexpr std::size_t kPart = 4 << 20;
  for (std::ptrdiff_t got = 1; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + kPart);
    got = file.read(text.data() + before, kPart, before);
    if (got < 0) throw Error(DC_E_CONFIG, format("cannot read the plan '{}': {}", path, text_of_errno(errno)));
    text.resize(before + static_cast<std::size_t>(got));
  }
  return read_plan(text, path);
}

}  // namespace damaris::replay
