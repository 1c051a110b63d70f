#include "server/log_intake.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/doorbell.hpp"

namespace damaris::server {
namespace {

// Enough for one write, and little enough that a kill finds most of what was appended in the region or in the files.
constexpr std::uint64_t kBatchBytes = 2 << 20;
constexpr std::size_t kBatchAppends = 4096;
constexpr auto kPause = std::chrono::milliseconds(200);  // between tries of what the file system refuses

}  // namespace

LogIntake::LogIntake(shm::Region& region, const model::Model& model, const VariableInfos& infos, Ledger& ledger)
    : region_(region),
      model_(model),
      infos_(infos),
      ledger_(ledger),
      uncommitted_(region.client_count()),
      appended_(region.client_count()) {
  for (std::uint64_t file = 0; file < region.log_files(); ++file)
    highest_.push_back(region.log_end(file).bytes.load(std::memory_order_relaxed));
}

// What was reserved and has not come lies in an arena: so no place is further behind the last one than the region is large. A client that
// scribbles in the region could otherwise make files of any size.
bool LogIntake::is_implausible(const LogAppend& append) const {
  return append.bytes.offset + append.bytes.bytes > highest_[append.file] + 2 * region_.memory().size_bytes();
}

std::string LogIntake::receive_append(const Member& member, const Lane& lane, const shm::Message& message) {
  LogAppend append;
  append.bytes =
      check_append(region_, lane.span, member.id, message, std::min<std::size_t>(model_.logs.size(), region_.log_files()));
  if (!append.bytes.fault.empty()) return append.bytes.fault;
  if (ledger_.is_held(append.bytes.block)) return "the server already holds its block";
  append.log = append.bytes.log;
  append.stream = std::int64_t{member.id} * region_.threads() + lane.index % region_.threads();
  append.file = first_file(model_, append.log) + static_cast<std::uint32_t>(append.stream % model_.logs[append.log].files);
  if (append.file >= highest_.size()) return "there is no such log";
  append.is_implausible = is_implausible(append);  // not the fault of this client, which keeps its lane
  if (append.is_implausible && adopts_) return "its place lies far behind the end of the log";
  ledger_.hold(append.bytes.block);
  queue_.emplace_back(append);
  if (!append.is_implausible) highest_[append.file] = std::max(highest_[append.file], append.bytes.offset + append.bytes.bytes);
  appended_[member.slot] = true;
  return "";
}

std::string LogIntake::receive_commit(const Member& member, const Lane& lane, const shm::Message& message) {
  LogCommit commit;
  commit.log = message.name;
  commit.durable = message.count != 0;
  commit.asked = check_request(region_, lane.span, member.id, message, infos_);
  if (!commit.asked->fault.empty()) return commit.asked->fault;
  if (commit.log >= model_.logs.size()) return format("there is no log {}", commit.log);
  if (ledger_.is_held(commit.asked->block)) return "the server already holds its block";
  ledger_.hold(commit.asked->block);
  queue_.emplace_back(std::move(commit));
  return "";
}

void LogIntake::receive_finalize(const Member& member) {
  if (!appended_[member.slot] || leaves_) return;
  for (std::uint32_t log = 0; log < model_.logs.size(); ++log) queue_.emplace_back(LogCommit{log, true, std::nullopt, member.slot});
  uncommitted_[member.slot] += static_cast<std::uint32_t>(model_.logs.size());
  appended_[member.slot] = false;
}

std::optional<StoreLogs> LogIntake::next() {
  if (out_ || queue_.empty() || (!block_reason_.empty() && Clock::now() < next_try_)) return std::nullopt;
  StoreLogs job;
  job.appends.reserve(std::min(queue_.size(), kBatchAppends));
  for (std::uint64_t bytes = 0; !queue_.empty() && job.appends.size() + job.commits.size() < kBatchAppends; queue_.pop_front()) {
    if (const auto* append = std::get_if<LogAppend>(&queue_.front())) {
      if (bytes > 0 && bytes + append->bytes.bytes > kBatchBytes) break;
      bytes += append->bytes.bytes;
      job.appends.push_back(*append);
    } else {
      job.commits.push_back(std::get<LogCommit>(queue_.front()));
    }
  }
  out_ = true;
  return job;
}

void LogIntake::requeue(StoreLogs job) {
  out_ = false;
  queue_.insert(queue_.begin(), job.commits.begin(), job.commits.end());
  queue_.insert(queue_.begin(), job.appends.begin(), job.appends.end());
}

// The client that waits reads the answer behind the data of its block, as that of a read.
void LogIntake::answer(const LogCommit& commit, const Status& status) {
  if (commit.leaving && uncommitted_[*commit.leaving] > 0) --uncommitted_[*commit.leaving];
  if (!commit.asked) return;
  shm::Answer text = {};
  text.code = status.code;
  std::memcpy(text.sentence, status.message.data(), std::min(status.message.size(), sizeof text.sentence - 1));
  const dc_read_t& read = commit.asked->read;
  std::memcpy(static_cast<std::byte*>(read.data) + shm::answer_offset(read.bytes), &text, sizeof text);
  ledger_.answer(commit.asked->block);
}

void LogIntake::handle(LogsStored& stored) {
  StoreLogs job = std::move(stored.job);
  for (const LogAppend& append : job.appends)
    if (append.fate == LogAppend::Fate::stored) ledger_.release(append.bytes.block);
  const auto is_done = [](const LogAppend& append) { return append.fate != LogAppend::Fate::waiting; };
  job.appends.erase(std::remove_if(job.appends.begin(), job.appends.end(), is_done), job.appends.end());
  leaves_ = leaves_ || stored.left.code != DC_OK;
  if (stored.failure.code == DC_OK) {
    out_ = false;
    block_reason_.clear();
    for (std::size_t i = 0; i < job.commits.size(); ++i) answer(job.commits[i], stored.synced[i]);
    shm::notify_progress(region_.header());
    return;
  }
  if (block_reason_.empty()) log_line(LogLevel::warning, format("{}; it is tried again", stored.failure.message));
  block_reason_ = stored.failure.message;
  next_try_ = Clock::now() + kPause;
  // A client that waits is told at once; the appends stay, and so does the client that leaves.
  std::vector<LogCommit> leaving;
  for (const LogCommit& commit : job.commits) {
    if (commit.asked)
      answer(commit, stored.failure);
    else
      leaving.push_back(commit);
  }
  job.commits = std::move(leaving);
  requeue(std::move(job));
  shm::notify_progress(region_.header());
}

std::size_t LogIntake::leave() {
  const Status status = {DC_E_IO, block_reason_};
  std::size_t appends = 0;
  for (const Waiting& waiting : queue_) {
    if (const auto* commit = std::get_if<LogCommit>(&waiting))
      answer(*commit, status);
    else
      ++appends;
  }
  queue_.clear();
  leaves_ = true;
  shm::notify_progress(region_.header());
  return appends;
}

}  // namespace damaris::server
