// The C++ interface of Damaris (C++17): sessions, prepared variables and blocks in shared memory, on top of the C interface.
// Used by: simulation processes (clients), by one thread at a time unless the XML gives `threads`. damaris_mpi.hpp starts under MPI.
// Before it: the simulation's arrays. After it: the region in shared memory, then the server on the dedicated core.
//
// Rules that hold for every call
//   Errors    throw damaris::Error with the code of status.h and a full sentence; after one nothing of the call has taken effect, unless it
//             says otherwise. `Throws` names the codes that the call is likely to meet; those that any call may meet stand in damaris.h
//             (DC_E_NOT_INITIALIZED, DC_E_FORKED, DC_E_ARGUMENT, DC_E_THREADS, DC_E_MEMORY, DC_E_INTERNAL).
//   Notices   (a variable that is switched off) never throw. write and commit return them; end_iteration, flush and finalize keep to
//             themselves that a plugin was switched off (DC_N_PLUGIN), dc_last_error() has its sentence.
//   Names, steps, threads, waiting   as damaris.h says.
//   Units     lists of extents, offsets and strides are in elements, in the layout's dimension order: C order, slowest first, unless the
//             layout has language="fortran", which lists the fastest dimension first.
#pragma once

#include <damaris/damaris.h>
#include <damaris/error.hpp>
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

// Hands on DC_OK and notices; throws Error with dc_last_error() for a negative code.
inline dc_code checked(int code) {
  if (code < 0) throw Error(static_cast<dc_code>(code), dc_last_error());
  return static_cast<dc_code>(code);
}

// The layout of `variable` as it is now. Throws DC_E_UNKNOWN_NAME, and DC_E_TYPE unless its elements are of type T and size sizeof(T).
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

// A block of a variable inside the region: the simulation computes in place, commit publishes without a copy. Moves, does not copy.
//   Owns     the memory until commit, or until the step ends: data() dangles then. The destructor does nothing: a block that is never
//            committed is not written, and the end of its step throws DC_E_NOT_COMMITTED.
//   Threads  the one that has called alloc.
template <class T>
class Block {
 public:
  // The other one is empty afterwards, and not to be committed.
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

  // size() elements side by side, in the layout's language order, aligned to 64 bytes, uninitialised at first; null after commit.
  T* data() const noexcept { return data_; }
  // In elements; 0 when data() is null.
  std::size_t size() const noexcept { return size_; }
  // In elements, ghost zones included, in the layout's dimension order; kept after commit.
  const std::vector<std::int64_t>& extents() const noexcept { return extents_; }
  // The elements as a range, unchecked by index; empty after commit.
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) const noexcept { return data_[i]; }

  // Publishes the block, of size() elements; data() is null afterwards, also when this throws.
  //   Owns     the memory is the server's afterwards.
  //   Returns  DC_OK, or the notice with which alloc gave memory that nobody stores: DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED,
  //            DC_N_DROPPED.
  //   Throws   DC_E_NOT_ALLOCATED when the step has ended meanwhile or the block is committed; DC_E_FULL when the lane stayed full: nothing
  //            has happened, call it again; DC_E_SERVER_LOST.
  dc_code commit() {
    data_ = nullptr;
    size_ = 0;
    return detail::checked(dc_commit(variable_.c_str(), step_, block_));
  }

 private:
  friend class Session;
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

// A variable looked up once: the fast path of a write. Copies are cheap.
//   Owns     nothing: valid until its session ends, and of no use to a later one.
template <class T>
class Variable {
 public:
  // Copies `data` (a container, a Section, or one element) as block `block` of `step`; it may be reused at once. No look-up, no lock,
  // no allocation, no system call. Elements of another type than T do not compile.
  //   Returns and throws as Session::write.
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

// This process as a client. There is one session a process at a time; it moves and does not copy. A session that is over throws
// DC_E_NOT_INITIALIZED from every call.
//   Threads  as damaris.h says; attach, finalize and moves while no other thread is in a call.
class Session {
 public:
  // Attaches as client `id` (0 or more, unique in the run, usually the rank) to the server of this node, and starts that server where
  // needed; with `dedicated cores="0"` does its work in this process. `config` is the path of the XML.
  //   Throws  DC_E_CONFIG, DC_E_CONFIG_MISMATCH, DC_E_REGION_IN_USE, DC_E_SHM, DC_E_VERSION, DC_E_DUPLICATE for an id in use,
  //           DC_E_ALREADY_INITIALIZED, DC_E_TIMEOUT after the XML's attach time-out, and what keeps a server from starting
  //           (DC_E_STALE_REGION, DC_E_NO_OUTPUT, DC_E_PLUGIN); no session exists then, and it may be tried again.
  static Session attach(const std::string& config, int id) {
    detail::checked(dc_initialize(config.c_str(), id));
    return Session();
  }
  // Takes over the session that dc_initialize or dc_mpi_initialize has started; this object ends it. Without one its calls throw
  // DC_E_NOT_INITIALIZED.
  static Session adopt() { return Session(); }

  // The other one is over afterwards: its calls throw DC_E_NOT_INITIALIZED. One that is assigned to is finalized first, as by ~Session.
  Session(Session&& other) noexcept : active_(std::exchange(other.active_, false)) {}
  Session& operator=(Session&& other) noexcept {
    if (this == &other) return *this;
    end();
    active_ = std::exchange(other.active_, false);
    return *this;
  }
  // Finalizes, within the XML's finalize time-out, and cannot tell of errors: call finalize() first to hear whether all data are stored.
  ~Session() { end(); }

  // Ends all steps, waits until what was written is durable, at most the XML's finalize time-out, detaches.
  //   Throws  what was not stored as wanted (DC_E_EARLIER_IO), DC_E_NOT_COMMITTED, DC_E_TIMEOUT, DC_E_SERVER_LOST; in place also the code
  //           with which a plugin ended. The session is over nevertheless.
  void finalize() {
    require_active();
    active_ = false;
    detail::checked(dc_finalize());
  }

  // Copies `data` (a container, a Section, or one element) as block `block` (0 or more) of `variable` at `step`, and ends all earlier
  // steps; `data` may be reused at once.
  //   Units    as many elements as the layout has, ghost zones included.
  //   Returns  DC_OK, or why nothing was copied: DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED, DC_N_DROPPED.
  //   Throws   DC_E_UNKNOWN_NAME, DC_E_TYPE, DC_E_SHAPE, DC_E_DUPLICATE, DC_E_BACKWARD, DC_E_TOO_LARGE, DC_E_ITERATION_TOO_LARGE, or
  //            DC_E_FULL when the buffer stayed full for the XML's time-out: nothing of the block is written, but the step may be open, and
  //            the call can be made again; DC_E_SERVER_LOST.
  template <class Data>
  dc_code write(const std::string& variable, std::int64_t step, const Data& data, std::int32_t block = 0) {
    require_active();
    const auto& section = as_section(data);
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(section.data())>>;
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable);
    return detail::checked(dc_write_typed(variable.c_str(), step, block, type_of<T>(), section.data(), section.ndims(),
                                          section.extents(), section.strides_bytes()));
  }

  // Fills `data` (a container, a MutableSection, or one element) with what the run of restart="..." in the XML stored as block `block` of
  // `variable` at `step`; ghost zones stay as they are. Waits for the storage, at most the XML's buffer time-out.
  //   Units   as many elements as write takes.
  //   Throws  DC_E_NOT_STORED when that is not there, DC_E_CONFIG when the XML names no run, DC_E_UNKNOWN_NAME, DC_E_SHAPE, DC_E_TYPE,
  //           DC_E_IO, DC_E_TOO_LARGE, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST; `data` is as it was.
  template <class Data>
  void read(const std::string& variable, std::int64_t step, Data&& data, std::int32_t block = 0) {
    require_active();
    const auto& section = as_mutable_section(data);
    using T = std::remove_pointer_t<decltype(section.data())>;
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable);
    detail::checked(dc_read_typed(variable.c_str(), step, block, type_of<T>(), section.data(), section.ndims(), section.extents(),
                                  section.strides_bytes()));
  }

  // The last complete step of that run in which `variable` was stored, or anything if it is empty. Waits as read.
  //   Throws  DC_E_NOT_STORED when there is none, DC_E_CONFIG, DC_E_UNKNOWN_NAME, DC_E_IO, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST.
  std::int64_t last_step(const std::string& variable = {}) {
    require_active();
    std::int64_t step = 0;
    detail::checked(dc_last_step(variable.empty() ? nullptr : variable.c_str(), &step));
    return step;
  }

  // Looks `name` up once.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_TYPE when its elements are not of type T.
  template <class T>
  Variable<T> variable(const std::string& name) {
    require_active();
    return Variable<T>(name);
  }

  // Hands out block `block` (0 or more) of `variable` at `step` in shared memory, and ends all earlier steps. Where a write would return a
  // notice it is memory of its own, which commit drops.
  //   Owns    the block, see there.
  //   Throws  as write; for a compound type DC_E_TYPE unless its size is sizeof(T).
  template <class T>
  Block<T> alloc(const std::string& variable, std::int64_t step, std::int32_t block = 0) {
    require_active();
    return Block<T>(variable, step, block);
  }

  // Sends the event `name`, and ends all steps before `step`; its actions run on the server by their scope.
  //   Throws  DC_E_UNKNOWN_NAME, DC_E_BACKWARD, DC_E_FULL at a full lane, DC_E_SERVER_LOST; what actions come to, end_iteration tells.
  void signal(const std::string& name, std::int64_t step) {
    require_active();
    detail::checked(dc_signal(name.c_str(), step));
  }

  // Ends `step` and all earlier ones, also when nothing was written. With a dedicated core it waits for no storage.
  //   Collective  only where `dedicated cores="0"` under MPI makes it so: over all ranks.
  //   Throws      errors of earlier steps (DC_E_EARLIER_IO) and DC_E_NOT_COMMITTED: the step has ended nevertheless. DC_E_BACKWARD,
  //               DC_E_FULL at a full lane, DC_E_SERVER_LOST; in place DC_E_TIMEOUT: ended here, but not in all processes.
  void end_iteration(std::int64_t step) {
    require_active();
    detail::checked(dc_end_iteration(step));
  }

  // Waits until `step` and all earlier ones are durable on this node group: files fsynced under their final names.
  //   Units   `timeout` in milliseconds, 0 or more (else DC_E_ARGUMENT); more than 24 days are cut to that.
  //   Throws  DC_E_TIMEOUT after `timeout`, DC_E_NOT_ENDED when this client has not ended `step`, DC_E_EARLIER_IO when something was not
  //           stored as wanted, DC_E_NOT_COMMITTED, DC_E_FULL at a full lane, DC_E_SERVER_LOST. Errors come once, see dc_flush.
  void flush(std::int64_t step, std::chrono::milliseconds timeout) {
    require_active();
    const auto most = static_cast<std::chrono::milliseconds::rep>(std::numeric_limits<int>::max());
    detail::checked(dc_flush(step, static_cast<int>(std::min(timeout.count(), most))));
  }

  // The state of this node group and this client; never waits.
  //   Units   sizes in bytes, counts of writes and events, see dc_status_t.
  //   Throws  DC_E_NOT_INITIALIZED; never for a failed step, which is its first_error.
  dc_status_t status() {
    require_active();
    dc_status_t status;
    detail::checked(dc_status(&status));
    return status;
  }

  // Sets the integer parameter `name` of the XML for this client, from the first write of a step on.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_ARGUMENT for a constant or computed one, and for a value that its type cannot hold.
  void set_parameter(const std::string& name, std::int64_t value) {
    require_active();
    detail::checked(dc_set_parameter(name.c_str(), value));
  }
  // The parameter `name` as this client has it now. Throws DC_E_UNKNOWN_NAME.
  std::int64_t parameter(const std::string& name) {
    require_active();
    std::int64_t value = 0;
    detail::checked(dc_get_parameter(name.c_str(), &value));
    return value;
  }

  // Gives the extents of this client's next blocks of a variable, or of all variables of a layout; an empty list goes back to the layout's
  // expressions.
  //   Units   elements, ghost zones included, in the layout's dimension order.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions, a negative extent, or less than the ghost zones; nothing
  //           has changed then.
  void set_shape(const std::string& name, const std::vector<std::int64_t>& extents) {
    require_active();
    detail::checked(dc_set_shape(name.c_str(), static_cast<int>(extents.size()), extents.data()));
  }
  // Gives the place of these blocks in the global array.
  //   Units   zero-based offsets of the interior (without ghost zones), in elements, in the layout's dimension order.
  //   Throws  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions or a negative offset. A place outside the global array is
  //           refused by the write.
  void set_position(const std::string& name, const std::vector<std::int64_t>& offsets) {
    require_active();
    detail::checked(dc_set_position(name.c_str(), static_cast<int>(offsets.size()), offsets.data()));
  }

  // Gives the physical time of `step`, and ends all earlier steps; the last value on the node wins.
  //   Units   finite, in the simulation's own unit.
  //   Throws  DC_E_ARGUMENT for a time that is not finite, DC_E_BACKWARD, DC_E_FULL at a full lane, DC_E_SERVER_LOST.
  void set_time(std::int64_t step, double time) {
    require_active();
    detail::checked(dc_set_time(step, time));
  }

 private:
  Session() = default;
  // Throws DC_E_NOT_INITIALIZED when it is over.
  void require_active() const {
    if (!active_)
      throw Error(DC_E_NOT_INITIALIZED, "this session is over: it was finalized, or moved from; call the one that is in use");
  }
  // Errors end here: a destructor has nobody to tell.
  void end() noexcept {
    if (std::exchange(active_, false) && dc_finalize() < 0) return;
  }

  bool active_ = true;
};

}  // namespace damaris
