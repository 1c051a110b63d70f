// The C++ interface of Damaris (C++17): sessions, prepared variables and blocks in shared memory, on top of the C interface.
// Used by: simulation processes (clients), by one thread at a time unless the XML gives `threads`. damaris_mpi.hpp starts under MPI.
// Before it: the simulation's arrays. After it: the region in shared memory, then the server on the dedicated core.
//
// Rules that hold for every call
//   Errors    A call that fails throws damaris::Error with the code of status.h and a full sentence, and has had no effect, unless its
//             comment or `State` of damaris.h says otherwise. `Throws` lists the codes that the work of the call causes. Any call may throw
//             DC_E_NOT_INITIALIZED, DC_E_FORKED, DC_E_ARGUMENT, DC_E_THREADS, DC_E_MEMORY and DC_E_INTERNAL, see damaris.h.
//   Notices   never throw. write and commit return them; end_iteration, flush and finalize drop DC_N_PLUGIN (a plugin was switched off),
//             whose sentence dc_last_error() returns.
//   Names, steps, threads, waiting   as in damaris.h.
//   Units     Lists of extents, offsets and strides are in elements, in the layout's dimension order: C order (slowest first), unless the
//             layout has language="fortran" (fastest first, as a Fortran declaration).
#pragma once

#include <damaris/damaris.h>
#include <damaris/error.hpp>
#include <damaris/log.hpp>
#include <damaris/section.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace damaris {

class Session;

namespace detail {

// Returns the layout of `variable` as dc_get_layout, extents in elements. Throws DC_E_UNKNOWN_NAME, DC_E_SHAPE when the parameters give no
// valid shape, and DC_E_TYPE unless the elements are of type T and of sizeof(T) bytes.
template <class T>
dc_layout_t layout_of(const std::string& variable) {
  dc_layout_t layout;
  checked(dc_get_layout(variable.c_str(), &layout));
  if (layout.type != type_of<T>() || layout.element_bytes != sizeof(T))
    throw Error(DC_E_TYPE, "'" + variable + "' has elements of " + std::to_string(layout.element_bytes) +
                               " bytes and another type than the C++ program's of " + std::to_string(sizeof(T)) +
                               " bytes; declare both the same");
  return layout;
}

}  // namespace detail

// A block of a variable inside the region, from Session::alloc: the simulation computes in place, and commit publishes it without a copy.
// Moves, does not copy.
//   Owns     the memory until commit, or until the end of the step, after which data() dangles. The destructor commits nothing: a block
//            that is not committed is not written, and the end of its step throws DC_E_NOT_COMMITTED.
//   Threads  the thread that called alloc.
//   Throws   only commit does.
template <class T>
class Block {
 public:
  // `other` is empty afterwards and must not be committed. An assignment drops a block of this object that is not committed: it is lost
  // as by the destructor. Throws nothing.
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    variable_ = std::move(other.variable_);
    step_ = other.step_;
    block_ = other.block_;
    extents_ = std::move(other.extents_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Returns the first of size() contiguous elements in the layout's dimension order, aligned to 64 bytes, uninitialised at first; null
  // after commit.
  T* data() const noexcept { return data_; }
  // Returns the number of elements; 0 when data() is null.
  std::size_t size() const noexcept { return size_; }
  // Returns the extents in elements, ghost zones included, in the layout's dimension order; kept after commit.
  const std::vector<std::int64_t>& extents() const noexcept { return extents_; }
  // Return the elements as a range, empty after commit. The index counts elements and is not checked.
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) const noexcept { return data_[i]; }

  // Publishes the block, of size() elements. data() is null afterwards, also when the call throws.
  //   Owns     the server owns the memory afterwards.
  //   Waits    at most the XML's buffer timeout, for a full lane.
  //   Returns  DC_OK, or the notice of an alloc that nothing stores: DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED, DC_N_DROPPED.
  //   Throws   DC_E_NOT_ALLOCATED after the end of the step and for a second commit; DC_E_FULL for a full lane and DC_E_SERVER_LOST,
  //            detected only during the wait: the block is not published, and commit can be called again.
  dc_code commit() {
    data_ = nullptr;
    size_ = 0;
    return detail::checked(dc_commit(variable_.c_str(), step_, block_));
  }

 private:
  friend class Session;
  // Throws as Session::alloc.
  Block(std::string variable, std::int64_t step, std::int32_t block) : variable_(std::move(variable)), step_(step), block_(block) {
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable_);
    dc_layout_t layout;
    void* data = nullptr;
    detail::checked(dc_alloc_typed(variable_.c_str(), step_, block_, type_of<T>(), &layout, &data));
    extents_.assign(layout.extents, layout.extents + layout.ndims);
    data_ = static_cast<T*>(data);
    size_ = data == nullptr ? 0 : layout.bytes / sizeof(T);
  }

  std::string variable_;
  std::int64_t step_ = 0;
  std::int32_t block_ = 0;
  std::vector<std::int64_t> extents_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// A handle of a variable from Session::variable: the fast path of a write. Cheap to copy.
//   Owns     nothing: valid until its session ends, and not to be used in a later one.
//   Threads  as Session.
template <class T>
class Variable {
 public:
  // Copies `data` (a container, a Section, or one element) as block `block` (0 or more) of `step`; `data` may be reused at once. Costs as
  // dc_write_to_typed: without a look-up, and for block 0 of an open step without a lock or an allocation. Elements of another type than T
  // do not compile.
  //   Units    as many elements as the layout has, ghost zones included.
  //   Returns and throws as Session::write; DC_E_ARGUMENT in another session than that of the handle.
  template <class Data>
  dc_code write(std::int64_t step, const Data& data, std::int32_t block = 0) const {
    const auto& section = as_section(data);
    static_assert(std::is_same_v<decltype(section.data()), const T*>, "the data must have the element type of the variable");
    return detail::checked(dc_write_to_typed(handle_, step, block, type_of<T>(), section.data(), section.ndims(), section.extents(),
                                             section.strides_bytes()));
  }

 private:
  friend class Session;
  // Throws as Session::variable.
  explicit Variable(const std::string& name) {
    detail::layout_of<T>(name);
    detail::checked(dc_variable(name.c_str(), &handle_));
  }
  dc_variable_t* handle_ = nullptr;
};

// The session of this process as a client. A process has one session at a time; it moves and does not copy. Every call of a session that
// is over, by finalize or by a move, throws DC_E_NOT_INITIALIZED.
//   Threads  as in damaris.h; attach, finalize and moves while no other thread is in a call.
class Session {
 public:
  // Attaches as client `id` (0 or more, unique in the run, usually the rank) to the server of this node. The first client starts that
  // server if none runs and the XML allows it; with `dedicated cores="0"` this process does the server's work. `config` is the path of
  // the XML.
  //   Waits   at most the XML's attach timeout, in seconds unless the XML gives a unit.
  //   Throws  DC_E_CONFIG, DC_E_CONFIG_MISMATCH, DC_E_REGION_IN_USE, DC_E_SHM, DC_E_VERSION, DC_E_DUPLICATE for an id in use, DC_E_TIMEOUT,
  //           DC_E_SERVER_LOST, DC_E_ALREADY_INITIALIZED; the start of a server adds DC_E_STALE_REGION, DC_E_NO_OUTPUT, DC_E_PLUGIN and the
  //           codes of plugins. After an error no session exists, and attach can be called again.
  static Session attach(const std::string& config, int id) {
    detail::checked(dc_initialize(config.c_str(), id));
    return Session();
  }
  // Returns an object for the session that dc_initialize or dc_mpi_initialize started, and owns it from then on. Throws nothing; where no
  // session exists, the calls of the object throw DC_E_NOT_INITIALIZED.
  static Session adopt() { return Session(); }

  // `other` is over afterwards: its calls throw DC_E_NOT_INITIALIZED. An assignment first finalizes the session of this object, as
  // ~Session. Throws nothing.
  Session(Session&& other) noexcept : active_(std::exchange(other.active_, false)) {}
  Session& operator=(Session&& other) noexcept {
    if (this == &other) return *this;
    end();
    active_ = std::exchange(other.active_, false);
    return *this;
  }
  // Finalizes as finalize() does, within the XML's finalize timeout, but drops all errors: call finalize() to learn whether all data are
  // stored.
  ~Session() { end(); }

  // Ends all steps, waits until the published data are durable, and detaches.
  //   Waits   at most the XML's finalize timeout, in seconds unless the XML gives a unit.
  //   Throws  DC_E_EARLIER_IO with all storage errors that no call has thrown yet, DC_E_NOT_COMMITTED, DC_E_TIMEOUT, DC_E_SERVER_LOST; with
  //           `dedicated cores="0"` also the error of a plugin's finalize. The session is over in every case.
  void finalize() {
    require_active();
    active_ = false;
    detail::checked(dc_finalize());
  }

  // Copies `data` (a container, a Section, or one element) as block `block` (0 or more) of `variable` at `step`, and ends all earlier
  // steps. `data` may be reused at once.
  //   Units    as many elements as the layout has, ghost zones included.
  //   Waits    at most the XML's buffer timeout for a full lane, and again for room in the buffer.
  //   Returns  DC_OK, or the reason why nothing is copied: DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED, DC_N_DROPPED.
  //   Throws   DC_E_UNKNOWN_NAME, DC_E_TYPE, DC_E_SHAPE, DC_E_DUPLICATE, DC_E_BACKWARD, DC_E_TOO_LARGE, DC_E_ITERATION_TOO_LARGE, DC_E_FULL
  //            after the wait, DC_E_SERVER_LOST. Nothing is copied then. After DC_E_FULL the step may be open, and the call can be
  //            repeated.
  template <class Data>
  dc_code write(const std::string& variable, std::int64_t step, const Data& data, std::int32_t block = 0) {
    require_active();
    const auto& section = as_section(data);
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(section.data())>>;
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable);
    return detail::checked(dc_write_typed(variable.c_str(), step, block, type_of<T>(), section.data(), section.ndims(),
                                          section.extents(), section.strides_bytes()));
  }

  // Fills `data` (a container, a MutableSection, or one element) with the values of block `block` of `variable` at `step` that the run of
  // restart="..." in the XML stored. Ghost zones keep their values. Opens and ends no step.
  //   Units   as many elements as write takes.
  //   Waits   for a full lane, for room in the buffer, and for the server and the storage: each at most the XML's buffer timeout.
  //   Throws  DC_E_NOT_STORED when the run lacks the step or a part of the array, DC_E_CONFIG when the XML names no run, DC_E_UNKNOWN_NAME,
  //           DC_E_SHAPE, DC_E_TYPE, DC_E_IO, DC_E_TOO_LARGE, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST. `data` keeps its values then.
  template <class Data>
  void read(const std::string& variable, std::int64_t step, Data&& data, std::int32_t block = 0) {
    require_active();
    const auto& section = as_mutable_section(data);
    using T = std::remove_pointer_t<decltype(section.data())>;
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable);
    detail::checked(dc_read_typed(variable.c_str(), step, block, type_of<T>(), section.data(), section.ndims(), section.extents(),
                                  section.strides_bytes()));
  }

  // Returns the last complete step in which that run stored `variable`, or, for an empty name, any variable.
  //   Waits   as read.
  //   Throws  DC_E_NOT_STORED when there is no such step, DC_E_CONFIG, DC_E_UNKNOWN_NAME, DC_E_IO, DC_E_FULL, DC_E_TIMEOUT,
  //           DC_E_SERVER_LOST.
  std::int64_t last_step(const std::string& variable = {}) {
    require_active();
    std::int64_t step = 0;
    detail::checked(dc_last_step(variable.empty() ? nullptr : variable.c_str(), &step));
    return step;
  }

  // Returns a handle of the variable `name`, valid until the session ends.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_TYPE when its elements are not of type T and sizeof(T) bytes; DC_E_SHAPE when the parameters give no
  //           valid shape.
  template <class T>
  Variable<T> variable(const std::string& name) {
    require_active();
    return Variable<T>(name);
  }

  // Returns a handle of the log `name`, a <stream-log> of the XML, valid until the session ends. Throws DC_E_UNKNOWN_NAME.
  Log log(const std::string& name) {
    require_active();
    return Log(name);
  }

  // Reserves block `block` (0 or more) of `variable` at `step` in shared memory, and ends all earlier steps. Where a write would return a
  // notice, the block is private memory of this process, which commit frees.
  //   Owns    the Block, see there; extents and size in elements.
  //   Waits   as write.
  //   Throws  as write; for a compound type also DC_E_TYPE unless its elements have sizeof(T) bytes.
  template <class T>
  Block<T> alloc(const std::string& variable, std::int64_t step, std::int32_t block = 0) {
    require_active();
    return Block<T>(variable, step, block);
  }

  // Sends the event `name` of `step` to the server, which runs its actions by their scope. Ends all earlier steps.
  //   Waits   at most the XML's buffer timeout, for a full lane.
  //   Throws  DC_E_UNKNOWN_NAME, DC_E_BACKWARD, DC_E_FULL, DC_E_SERVER_LOST. A failure of an action is thrown by a later end_iteration,
  //           flush or finalize.
  void signal(const std::string& name, std::int64_t step) {
    require_active();
    detail::checked(dc_signal(name.c_str(), step));
  }

  // Ends `step` and all earlier ones for this client, also when it wrote nothing. With a dedicated core it never waits for storage.
  //   Collective  over all ranks, only where `dedicated cores="0"` under MPI requires it.
  //   Waits       at most the XML's buffer timeout, for a full lane.
  //   Throws      with the step ended: DC_E_NOT_COMMITTED; DC_E_EARLIER_IO, the first error of an earlier step that no call has thrown
  //               yet; with `dedicated cores="0"` DC_E_TIMEOUT when other processes have not ended it. Without effect: DC_E_BACKWARD,
  //               DC_E_FULL, DC_E_SERVER_LOST.
  void end_iteration(std::int64_t step) {
    require_active();
    detail::checked(dc_end_iteration(step));
  }

  // Waits until `step` and all earlier ones are durable on this node group: in files that are fsynced under their final names.
  //   Units   `timeout` in milliseconds, 0 or more (else DC_E_ARGUMENT); values above 2^31 - 1 ms, about 24 days, count as that.
  //   Throws  DC_E_TIMEOUT after `timeout`, DC_E_NOT_ENDED when this client has not ended `step`, DC_E_EARLIER_IO with the first error of
  //           these steps, DC_E_NOT_COMMITTED, DC_E_FULL, DC_E_SERVER_LOST. Each error is thrown once, see dc_flush.
  void flush(std::int64_t step, std::chrono::milliseconds timeout) {
    require_active();
    constexpr std::chrono::milliseconds::rep kMost = std::numeric_limits<int>::max(), kRefused = -1;
    detail::checked(dc_flush(step, static_cast<int>(std::clamp(timeout.count(), kRefused, kMost))));
  }

  // Returns the state of this node group and this client. Never waits.
  //   Units   sizes in bytes, see dc_status_t.
  //   Throws  DC_E_NOT_INITIALIZED. A failed step throws nothing here: see first_error.
  dc_status_t status() {
    require_active();
    dc_status_t status;
    detail::checked(dc_status(&status));
    return status;
  }

  // Sets the integer parameter `name` for this client only. The layouts follow with the first write of a step.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_ARGUMENT for a constant or computed parameter, and for a value outside the range of its type, or of
  //           the type of a parameter that is computed from it. No parameter has changed then.
  void set_parameter(const std::string& name, std::int64_t value) {
    require_active();
    detail::checked(dc_set_parameter(name.c_str(), value));
  }
  // Returns the parameter `name` of this client, as set last. Throws DC_E_UNKNOWN_NAME.
  std::int64_t parameter(const std::string& name) {
    require_active();
    std::int64_t value = 0;
    detail::checked(dc_get_parameter(name.c_str(), &value));
    return value;
  }

  // Sets the extents of this client's next blocks of `name`, a variable, or a layout and so all its variables. An empty list returns to the
  // layout's expressions.
  //   Units   elements, ghost zones included, in the layout's dimension order.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions, a negative extent, a size of 2^63 bytes or more, or an extent
  //           smaller than its ghost zones. No shape has changed then.
  void set_shape(const std::string& name, const std::vector<std::int64_t>& extents) {
    require_active();
    detail::checked(dc_set_shape(name.c_str(), static_cast<int>(extents.size()), extents.data()));
  }
  // Sets the position of these blocks in the global array.
  //   Units   zero-based offsets of the interior (without ghost zones), in elements, in the layout's dimension order.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions or a negative offset; no position has changed then. An empty
  //           list may also throw DC_E_ARGUMENT. A position outside the global array is refused by the write (DC_E_SHAPE).
  void set_position(const std::string& name, const std::vector<std::int64_t>& offsets) {
    require_active();
    detail::checked(dc_set_position(name.c_str(), static_cast<int>(offsets.size()), offsets.data()));
  }

  // Sets the physical time of `step`, and ends all earlier steps. The last value that a client of the node sends is stored.
  //   Units   finite, in the simulation's own unit.
  //   Waits   at most the XML's buffer timeout, for a full lane.
  //   Throws  DC_E_ARGUMENT for a time that is not finite, DC_E_BACKWARD, DC_E_FULL, DC_E_SERVER_LOST.
  void set_time(std::int64_t step, double time) {
    require_active();
    detail::checked(dc_set_time(step, time));
  }

 private:
  Session() = default;
  // Throws DC_E_NOT_INITIALIZED when the session is over.
  void require_active() const {
    if (!active_)
      throw Error(DC_E_NOT_INITIALIZED, "this session is over: it was finalized, or moved from; call the one that is in use");
  }
  // Drops the error of dc_finalize: a destructor must not throw.
  void end() noexcept {
    if (std::exchange(active_, false) && dc_finalize() < 0) return;
  }

  bool active_ = true;
};

}  // namespace damaris
