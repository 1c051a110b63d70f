// One client: reserve -> copy -> publish, the end of steps, and the bounded waits of back-pressure.
// Used by: the simulation's process; by one thread, or by `threads` of them, each with a lane and an arena of its own.
// Before it: the C interface. After it: lanes and arenas of the region, then the server.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/lane_claims.hpp"
#include "client/server_link.hpp"
#include "client/shapes.hpp"
#include "client/source.hpp"
#include "client/writer.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/process.hpp"
#include "core/shm/region.hpp"

namespace damaris::client {

class Client {
 public:
  // Attaches as client `id` in the slot that it has claimed: allocates and touches its arenas, and rings the server. `pump`: only in place.
  // Throws Error, after freeing the slot: DC_E_SHM if there is no memory for the arena, DC_E_CONFIG if the table of variables is damaged.
  Client(std::shared_ptr<shm::Region> region, std::shared_ptr<const model::Frame> frame, std::uint32_t slot, int id,
         Pump pump = nullptr);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Shapes& shapes() noexcept { return shapes_; }
  // Serializes what is done once for all threads: the first call of a step, reports, shapes. Costs nothing with a single thread.
  std::unique_lock<std::mutex> lock_step();
  // Applies parameters set since the last step, unless the open step already has a write.
  void refresh_shapes();

  // The fast path. Returns DC_OK or a notice; throws Error as dc_write documents.
  int write(Variable& variable, std::int64_t step, std::int32_t block, const void* data);
  int write(Variable& variable, std::int64_t step, std::int32_t block, const Source& source);
  // Afterwards `variable` has the shape that was reserved.
  int alloc(Variable& variable, std::int64_t step, std::int32_t block, void** data, dc_type type = DC_ANY);
  int commit(Variable& variable, std::int64_t step, std::int32_t block);
  // Waits until the server has read the data that an earlier run stored. Opens and ends no step.
  void read(Variable& variable, std::int64_t step, std::int32_t block, const Target& target);
  // `variable` nullptr: the last step of any variable.
  std::int64_t last_step(const Variable* variable);
  void signal(const std::string& name, std::int64_t step);

  // Logs; they open and end no step. Throw Error as dc_append and the calls beside it document.
  LogHandle& log(const char* name);
  bool owns(const LogHandle* handle) const noexcept {
    return !logs_.empty() && handle >= logs_.data() && handle < logs_.data() + logs_.size();
  }
  dc_position_t append(LogHandle& log, const dc_piece_t* pieces, std::size_t count);
  void* alloc_append(LogHandle& log, std::uint64_t bytes);
  // `bytes`: of those allocated, the first ones.
  dc_position_t publish_append(LogHandle& log, void* data, std::uint64_t bytes);
  // Waits until what this thread has appended is durable.
  void commit_log(LogHandle& log, std::int64_t timeout_ms);
  void set_time(std::int64_t step, double time);

  // These report failures of earlier steps: DC_OK if there are none.
  Status end_iteration(std::int64_t step);
  Status flush(std::int64_t step, std::int64_t timeout_ms);
  // Ends all steps, waits for durability, detaches. A second call does nothing.
  Status finalize();
  // Ends the session while the process lives on: the server treats this client as dead. Any thread; changes nothing in this object.
  void end_session() noexcept;
  dc_status_t status();
  // The open step if something was written in it, otherwise nothing.
  std::optional<std::int64_t> unfinished_step() const { return steps_.unfinished(); }
  // kNoStep if none has ended.
  std::int64_t last_ended_step() const noexcept { return steps_.last_ended(); }

 private:
  Writer& own_writer() { return writers_.size() == 1 ? *writers_[0] : writer_of_thread(); }
  Writer& writer_of_thread();
  Writer* writer_if_any();
  void open_step(std::int64_t step) {
    if (!steps_.is_open(step)) change_step(step);
  }
  // A block to be written or, without a source, to be allocated.
  struct Wanted {
    Writer& writer;
    const Variable& variable;
    std::int32_t block;
    std::optional<Source> source;
  };
  // `wanted` constructs one: only the first write of a step needs it.
  template <class Make>
  void open_step_to_write(std::int64_t step, Make&& wanted) {
    if (!steps_.is_open(step)) change_step_to_write(wanted(), step);
  }
  template <class Make>
  void begin_to_write(std::int64_t step, Make&& wanted) {
    if (!steps_.is_writing()) start_writing(wanted(), step);
  }
  void change_step(std::int64_t step, const Wanted* wanted = nullptr);
  void change_step_to_write(const Wanted& wanted, std::int64_t step);
  void close_steps_below(std::int64_t step);
  void send_finalize();
  void note_cancelled(const std::pair<std::uint32_t, std::int32_t>& key, std::int64_t step);
  void require_fits(const Wanted& wanted, std::int64_t step);
  void require_shapes();
  [[noreturn]] void throw_too_large(const Writer& writer, const Variable& variable, std::uint64_t bytes, std::int64_t step) const;
  void start_writing(const Wanted& wanted, std::int64_t step);
  void make_writers();
  void prepare_writers(std::uint32_t variable);
  shm::Arena own_arena(const shm::LaneSpan& span);
  void add_arena(const Writer& writer, dc_status_t& status) const;
  // The notice that says why nothing is copied, or DC_OK.
  int notice_for(const Variable& variable, std::int64_t step) const {
    if (variable.always_due) return DC_OK;
    if (!variable.enabled) return DC_N_DISABLED;
    return variable.schedule.due(step) ? DC_OK : DC_N_NOT_DUE;
  }
  // The notice if the node group omits it for lack of room, or DC_OK.
  int omission_notice(const Variable& variable, std::int64_t step) const {
    return may_omit_ ? omission_from_region(variable, step) : static_cast<int>(DC_OK);
  }
  int omission_from_region(const Variable& variable, std::int64_t step) const;
  int omit_write(Writer& writer, const Variable& variable, int notice);
  void omit_once(Writer& writer, const Variable& variable, std::int32_t block, int notice);
  void require_block(const Variable& variable, std::int32_t block) const;
  void require_data(const Variable& variable, const void* data) const;
  void require_type(const Variable& variable, dc_type type) const;
  // Opens the step. Returns the notice why nothing is copied, or DC_OK.
  int begin_block(Writer& writer, const Variable& variable, std::int64_t step, std::int32_t block, const Source& source);
  // Returns nullptr and sets `notice` if back-pressure omits the write.
  shm::BlockHeader* reserve(Writer& writer, Variable& variable, std::int64_t step, std::int32_t block, int& notice);
  shm::BlockHeader* wait_for_block(Writer& writer, const Variable& variable, std::int64_t step, int& notice);
  template <class Done>
  void wait_for_room(Done&& done);
  [[noreturn]] void throw_full(Writer& writer, const Variable& variable, std::int64_t step, bool alone);
  std::string larger_buffer(const Writer& writer, std::uint64_t step_bytes) const;
  [[noreturn]] void throw_logged(const std::string& sentence);
  void publish(Writer& writer, shm::BlockHeader* block, std::int64_t step, const std::byte* data, std::uint64_t bytes);
  // What a read waits for, and until when.
  struct Asked {
    std::string what;
    Deadline deadline;
    const char* verb = "read";
  };
  Asked asked(std::string what) const {
    return {std::move(what), Deadline::after_ms(declared_.frame->architecture.read_timeout_ms), "read"};
  }
  shm::BlockHeader* reserve_to_read(Writer& writer, const Asked& asked, std::uint64_t bytes, shm::Form form);
  // Returns false if the server has not answered in time; the block is the server's then.
  bool request(Writer& writer, shm::BlockHeader* block, shm::Message& message, const Deadline& deadline);
  void request_read(Writer& writer, shm::BlockHeader* block, shm::Message& message, const Asked& asked);
  struct Part {
    Box box;  // of the interior
    shm::Form form;
  };
  void read_part(Writer& writer, Variable& variable, std::int64_t step, std::int32_t block, const Part& part, const Target& target,
                 const Asked& asked);
  void open_logs();
  void cancel_appends() noexcept;
  shm::BlockHeader* reserve_to_append(Writer& writer, const LogHandle& log, std::uint64_t bytes);
  shm::BlockHeader* wait_to_append(Writer& writer, const LogHandle& log, std::uint64_t bytes);
  dc_position_t publish_bytes(Writer& writer, const LogHandle& log, shm::BlockHeader& block, std::uint64_t bytes);
  void wait_until_written(Writer& writer, const LogHandle& log);
  void wait_for_log(Writer& writer, const LogHandle& log, const char* what, bool durable, std::int64_t timeout_ms);
  void push(Writer& writer, const shm::Message& message, const Deadline& deadline);
  void push_to_all(const shm::Message& message, const Deadline& deadline);
  void report_omissions(std::int64_t last, const Deadline& deadline);
  std::int64_t last_attempted_step() const;
  Deadline lane_deadline() const;
  void wait_for_lane(Writer& writer, const Deadline& deadline);
  void wait_for_lane_to_write(Writer& writer, const Variable& variable, std::int64_t step, std::int32_t block);
  [[noreturn]] void throw_not_durable(std::int64_t last);
  Status next_report(std::int64_t up_to_step);
  Status mailbox_report();
  std::string_view name_of(const Variable& variable) const { return declared_.path_of(variable); }

  const CreatorProcess creator_;
  std::shared_ptr<shm::Region> region_;
  std::uint32_t slot_;
  const Declarations declared_;
  Shapes shapes_;
  int id_;
  const bool may_omit_;  // some variable may be skipped, or its step dropped
  ServerLink link_;
  std::vector<std::unique_ptr<Writer>> writers_;  // one per thread
  std::vector<LogHandle> logs_;                   // by log of the model
  LaneClaims claims_;
  std::mutex step_mutex_;  // see lock_step()
  StepState steps_;
  std::string cancelled_;                      // names of uncommitted allocations, until they are reported
  bool mailbox_reported_ = false;              // the damaged mailbox has been reported
  std::atomic<bool> full_logged_{false};       // a time-out of a write has been logged
  std::optional<Deadline> finalize_deadline_;  // set once finalize has begun
};

// Counts this thread as waiting meanwhile: the server spills more for a client that waits.
template <class Done>
void Client::wait_for_room(Done&& done) {
  std::atomic<std::uint32_t>& waiting = region_->slot(slot_).waits_for_room;
  struct Wait {
    std::atomic<std::uint32_t>& waiting;
    std::atomic<std::uint64_t>& total;
    const Clock::time_point start = Clock::now();
    ~Wait() {
      total.fetch_add(static_cast<std::uint64_t>((Clock::now() - start).count()), std::memory_order_relaxed);
      waiting.fetch_sub(1, std::memory_order_relaxed);
    }
  };
  waiting.fetch_add(1, std::memory_order_relaxed);
  const Wait wait = {waiting, region_->header().waited_ns};
  link_.ring();
  link_.wait_until(Deadline::after_ms(declared_.frame->architecture.buffer_timeout_ms), done);
}

}  // namespace damaris::client
