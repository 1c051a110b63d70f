#include "replay/outputs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "replay/contents.hpp"
#include "replay/evaluate.hpp"

namespace damaris::replay {
namespace {

constexpr std::uint64_t kLeastBlock = 16 << 10;  // files that get less at once are logs and the like, and stay as they are
constexpr std::uint64_t kLeastBurst = 4 << 10;   // less is what a file's format adds; the other way has its own
constexpr std::uint64_t kLeastPiece = 64 << 10;  // smaller writes are joined with those behind
constexpr std::uint64_t kMostPieces = 64;        // of a burst, unless it is very large

struct Piece {
  std::uint32_t operation = kNone;  // the write with which it is complete
  std::uint64_t bytes = 0;
};

struct Burst {
  std::uint32_t process = 0, begin = kNone, end = kNone;  // its writes are among the operations [begin, end)
  std::uint64_t bytes = 0;
  std::uint32_t output = kNone;
  bool is_synced = false;  // it writes a file that somebody syncs
  std::vector<Piece> pieces;
};

class Rewriter {
 public:
  Rewriter(const Plan& plan, Way way, double stretch)
      : plan_(plan), way_(way), stretch_(stretch), is_rewritten_(plan.files.size()), is_synced_(plan.files.size()) {}

  Outputs run() {
    find_files();
    find_bursts();
    find_outputs();
    cut();
    write();
    relink();
    return std::move(result_);
  }

 private:
  template <class See>
  void for_each_burst(See see) const {
    for (std::uint32_t process = 0; process < plan_.processes.size(); ++process) {
      const auto fresh = [process] {
        Burst none;
        none.process = process;
        return none;
      };
      Burst one = fresh();
      for (std::uint32_t i = plan_.processes[process].begin; i < plan_.processes[process].end; ++i) {
        const Kind kind = plan_.operations[i].kind;
        if (kind == Kind::write) {
          if (one.begin == kNone) one.begin = i;
          one.end = i + 1;
        } else if ((is_message(kind) || is_collective(kind)) && one.begin != kNone) {
          see(std::exchange(one, fresh()));
        }
      }
      if (one.begin != kNone) see(one);
    }
  }

  // Those that get large blocks are written in the other way.
  void find_files() {
    std::vector<std::uint64_t> bytes(plan_.files.size()), bursts(plan_.files.size());
    for_each_burst([&](const Burst& one) {
      std::map<std::uint32_t, std::uint64_t> written;
      for (std::uint32_t i = one.begin; i < one.end; ++i)
        if (plan_.operations[i].kind == Kind::write) written[plan_.operations[i].object] += plan_.operations[i].bytes;
      for (const auto& [file, count] : written) {
        bytes[file] += count;
        ++bursts[file];
      }
    });
    for (std::size_t i = 0; i < bytes.size(); ++i) is_rewritten_[i] = bursts[i] > 0 && bytes[i] / bursts[i] >= kLeastBlock;
    for (const Operation& one : plan_.operations) {
      if (!is_io(one.kind) || !is_rewritten_[one.object]) continue;
      if (one.kind == Kind::sync) is_synced_[one.object] = true;
      if (one.kind == Kind::read) ++result_.left_out;
    }
  }

  bool is_rewritten(const Operation& one) const { return is_io(one.kind) && is_rewritten_[one.object]; }

  void find_bursts() {
    for_each_burst([&](Burst one) {
      for (std::uint32_t i = one.begin; i < one.end; ++i) {
        const Operation& write = plan_.operations[i];
        if (write.kind != Kind::write || !is_rewritten(write)) continue;
        one.bytes += write.bytes;
        one.is_synced = one.is_synced || is_synced_[write.object];
      }
      if (one.bytes >= kLeastBurst) bursts_.push_back(std::move(one));
    });
    if (bursts_.empty())
      throw Error(DC_E_CONFIG, format("{}: no process writes a file in blocks of {} KiB or more, so another way of writing changes "
                                      "nothing; replay the plan as it is",
                                      plan_.name, kLeastBlock >> 10));
  }

  // In virtual time in which each burst takes 1 and all else nothing, the begin of a burst is the number of those before it in its longest
  // chain of dependencies.
  void find_outputs() {
    Plan counted = plan_;
    for (Operation& one : counted.operations) one.ns = 0;
    for (const Burst& one : bursts_) counted.operations[one.begin].ns = 1;
    depth_.resize(plan_.operations.size());
    for_each_time(counted, evaluate(counted), nullptr,
                  [&](std::uint32_t i, std::uint64_t begin, std::uint64_t) { depth_[i] = begin; });
    for (const Burst& one : bursts_) numbers_[depth_[one.begin]] = 0;
    std::uint32_t next = 0;
    for (auto& [depth, number] : numbers_) number = next++;
    result_.writers.resize(next);
    syncs_.resize(next);
    for (Burst& one : bursts_) {
      one.output = numbers_[depth_[one.begin]];
      result_.writers[one.output].push_back(one.process);
      syncs_[one.output] = syncs_[one.output] || one.is_synced;
    }
  }

  void cut() {
    std::vector<std::uint64_t> sums(result_.writers.size());
    for (Burst& one : bursts_) {
      const std::uint64_t least = std::clamp(one.bytes / kMostPieces, kLeastPiece, Contents::kMostBlock);
      std::uint64_t held = 0;
      std::uint32_t last = one.begin;
      const auto add = [&](std::uint64_t bytes) {
        one.pieces.push_back({last, bytes});
        held -= bytes;
      };
      for (std::uint32_t i = one.begin; i < one.end; ++i) {
        const Operation& write = plan_.operations[i];
        if (write.kind != Kind::write || !is_rewritten(write)) continue;
        held += write.bytes;
        last = i;
        while (held > Contents::kMostBlock) add(Contents::kMostBlock);
        if (held >= least) add(held);
      }
      if (held > 0) add(held);
      one.end = last + 1;
      sums[one.output] += one.bytes;
      result_.bytes += one.bytes;
      result_.largest_share = std::max(result_.largest_share, one.bytes);
      result_.variables = std::max(result_.variables, static_cast<std::uint32_t>(one.pieces.size()));
    }
    result_.largest_output = *std::max_element(sums.begin(), sums.end());
    if (result_.variables > 255)
      throw Error(DC_E_CONFIG, format("{}: a process writes {} MiB at once, too much for another way; plan a part of the recording",
                                      plan_.name, result_.largest_share >> 20));
  }

  // Where each piece is in its output: those of the same place among the pieces, in the order of processes, behind those before.
  void find_offsets() {
    std::vector<std::vector<const Burst*>> together(result_.writers.size());
    for (const Burst& one : bursts_) together[one.output].push_back(&one);
    most_.resize(together.size());
    for (std::size_t output = 0; output < together.size(); ++output) {
      std::uint64_t at = 0;
      for (const Burst* one : together[output]) most_[output] = std::max(most_[output], one->pieces.size());
      for (std::size_t piece = 0; piece < most_[output]; ++piece)
        for (const Burst* one : together[output]) {
          offsets_[{one, piece}] = at;
          at += piece < one->pieces.size() ? one->pieces[piece].bytes : 0;
        }
    }
  }

  void write() {
    Plan& made = result_.plan;
    made.name = plan_.name;
    made.layer = plan_.layer;
    made.recorded_ns = plan_.recorded_ns;
    made.files = plan_.files;
    for (File& one : made.files)
      if (is_rewritten_[static_cast<std::size_t>(&one - made.files.data())]) one = {"", 0, one.number, one.line};
    name_outputs();
    find_offsets();
    moved_.resize(plan_.operations.size(), kNone);
    auto burst = bursts_.cbegin();
    for (std::uint32_t process = 0; process < plan_.processes.size(); ++process) {
      Process one = plan_.processes[process];
      const auto is_gone = [&](std::uint32_t file) { return is_rewritten_[file]; };
      one.inherited.erase(std::remove_if(one.inherited.begin(), one.inherited.end(), is_gone), one.inherited.end());
      one.begin = static_cast<std::uint32_t>(made.operations.size());
      write_process(plan_.processes[process], burst);
      one.end = static_cast<std::uint32_t>(made.operations.size());
      made.processes.push_back(std::move(one));
    }
  }

  void name_outputs() {
    std::vector<File>& files = result_.plan.files;
    result_.first_file = static_cast<std::uint32_t>(files.size());
    std::string& folder = result_.folder = "outputs";
    const auto is_taken = [&](const File& one) { return one.name.compare(0, folder.size(), folder) == 0; };
    while (std::any_of(files.begin(), files.end(), is_taken)) folder += '_';
    for (std::uint32_t output = 0; output < result_.writers.size(); ++output) {
      const std::size_t count = way_ == Way::file_per_process ? result_.writers[output].size() : 1;
      for (std::size_t i = 0; i < count; ++i)
        files.push_back({count > 1 || way_ == Way::file_per_process
                             ? format("{}/{}.{}", folder, output, plan_.processes[result_.writers[output][i]].number)
                             : format("{}/{}", folder, output),
                         0, kNone, 0});
      first_of_.push_back(static_cast<std::uint32_t>(files.size() - count));
    }
  }

  std::uint32_t file_of(std::uint32_t output, std::uint32_t process) const {
    if (way_ != Way::file_per_process) return first_of_[output];
    const auto& writers = result_.writers[output];
    return first_of_[output] +
           static_cast<std::uint32_t>(std::lower_bound(writers.begin(), writers.end(), process) - writers.begin());
  }

  void write_process(const Process& process, std::vector<Burst>::const_iterator& burst) {
    const auto index = static_cast<std::uint32_t>(&process - plan_.processes.data());
    std::uint32_t ended = 0;  // the first output of which the servers do not know yet that this process has ended it
    for (std::uint32_t i = process.begin; i < process.end; ++i) {
      const bool is_inside = burst != bursts_.end() && burst->process == index && i >= burst->begin;
      if (way_ == Way::dedicated && !is_inside)
        for (const auto reached = numbers_.lower_bound(depth_[i]);
             ended < (reached == numbers_.end() ? numbers_.size() : reached->second);)
          add(Kind::close, file_of(ended++, index), plan_.operations[i].line);
      if (is_inside && i == burst->begin) begin_burst(*burst);
      if (is_inside) write_pieces(*burst, i);
      if (!is_rewritten(plan_.operations[i])) keep(i);
      if (is_inside && i + 1 == burst->end) {
        end_burst(*burst, plan_.operations[i].line);
        ended = burst->output + 1;
        ++burst;
      }
    }
    while (way_ == Way::dedicated && ended < numbers_.size()) add(Kind::close, file_of(ended++, index), process.line);
  }

  Operation& add(Kind kind, std::uint32_t file, std::uint32_t line) {
    Operation one;
    one.kind = kind;
    one.object = file;
    one.line = line;
    return result_.plan.operations.emplace_back(one);
  }

  void begin_burst(const Burst& one) {
    add(Kind::open, file_of(one.output, one.process), plan_.operations[one.begin].line).flags = kWrite | kCreate | kTruncate;
    piece_ = 0;
    at_ = 0;
  }

  void write_pieces(const Burst& burst, std::uint32_t operation) {
    for (; piece_ < burst.pieces.size() && burst.pieces[piece_].operation == operation; ++piece_)
      write_piece(burst, piece_, burst.pieces[piece_].bytes, plan_.operations[operation].line);
  }

  void write_piece(const Burst& burst, std::size_t piece, std::uint64_t bytes, std::uint32_t line) {
    Operation& one = add(Kind::write, file_of(burst.output, burst.process), line);
    one.bytes = bytes;
    one.offset = way_ == Way::file_per_process ? at_ : offsets_.at({&burst, piece});
    one.flags = static_cast<std::uint8_t>(piece);
    at_ += bytes;
  }

  // Collective calls that only others need have no bytes.
  void end_burst(const Burst& one, std::uint32_t line) {
    if (way_ == Way::collective)
      for (std::size_t piece = one.pieces.size(); piece < most_[one.output]; ++piece) write_piece(one, piece, 0, line);
    const bool syncs = way_ == Way::collective ? syncs_[one.output] : one.is_synced;  // servers always do
    if (syncs && way_ != Way::dedicated) add(Kind::sync, file_of(one.output, one.process), line);
    add(Kind::close, file_of(one.output, one.process), line);
  }

  void keep(std::uint32_t operation) {
    moved_[operation] = static_cast<std::uint32_t>(result_.plan.operations.size());
    Operation& one = result_.plan.operations.emplace_back(plan_.operations[operation]);
    if (one.kind == Kind::compute) one.ns = static_cast<std::uint64_t>(stretch_ * static_cast<double>(one.ns));
  }

  void relink() {
    const auto move = [this](std::uint32_t& operation) {
      if (operation != kNone) operation = moved_[operation];
    };
    result_.plan.messages = plan_.messages;
    for (Message& one : result_.plan.messages) {
      move(one.post);
      move(one.get);
      move(one.await);
    }
    result_.plan.collectives = plan_.collectives;
    result_.plan.members = plan_.members;
    for (Member& one : result_.plan.members) move(one.operation);
  }

  const Plan& plan_;
  const Way way_;
  const double stretch_;
  std::vector<bool> is_rewritten_;  // of each file
  std::vector<bool> is_synced_;     // of each file: somebody syncs it, so the outputs with its data are synced, too
  std::vector<bool> syncs_;         // of each output: some of its data is synced
  std::vector<Burst> bursts_;       // by process, in its order
  std::vector<std::uint64_t> depth_;
  std::map<std::uint64_t, std::uint32_t> numbers_;  // of the outputs, by depth
  std::vector<std::uint32_t> first_of_;             // file of each output
  std::vector<std::size_t> most_;                   // pieces of each output
  std::map<std::pair<const Burst*, std::size_t>, std::uint64_t> offsets_;
  std::vector<std::uint32_t> moved_;
  std::size_t piece_ = 0;
  std::uint64_t at_ = 0;
  Outputs result_;
};

}  // namespace

Outputs rewrite(const Plan& plan, Way way, double stretch) { return Rewriter(plan, way, stretch).run(); }

}  // namespace damaris::replay
