// The C++ interface of Damaris (C++17): sessions, prepared variables and blocks in shared memory, on top of the C interface.
// Used by: simulation processes (clients), by one thread at a time unless the XML gives `threads`. damaris_mpi.hpp starts under MPI.
// Before it: the simulation's arrays. After it: the region in shared memory, then the server on the dedicated core.
//
// Rules that hold for every call
//   Errors    throw damaris::Error with the code of status.h and a full sentence. Notices (a variable that is switched off) never
//             throw; write returns them.
//   Names, steps, threads, waiting   as damaris.h says.
//   Lists     of extents, offsets and strides are in the layout's dimension order.
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

inline dc_code checked(int code) {
  if (code < 0) throw Error(static_cast<dc_code>(code), dc_last_error());
  return static_cast<dc_code>(code);
}

// The layout of `variable` as it is now. Throws DC_E_TYPE unless its elements are of type T.
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

// A block of a variable inside the region: the simulation computes in place, commit publishes without a copy.
//   Owns  the memory until commit, or until the step ends. A block that is never committed is not written, and the end of its step
//         throws DC_E_NOT_COMMITTED.
template <class T>
class Block {
 public:
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

  // Elements side by side, uninitialised at first; null after commit.
  T* data() const noexcept { return data_; }
  // In elements; 0 when data() is null.
  std::size_t size() const noexcept { return size_; }
  // In elements, ghost zones included, in the layout's dimension order; kept after commit.
  const std::vector<std::int64_t>& extents() const noexcept { return extents_; }
  // The elements as a range, unchecked by index; empty after commit.
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) const noexcept { return data_[i]; }

  // Publishes the block; the memory is the server's afterwards, also when this throws.
  //   Returns  DC_OK, or DC_N_DISABLED when the variable is switched off.
  //   Throws   DC_E_NOT_ALLOCATED when the step has ended meanwhile.
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

// A variable looked up once: the fast path of a write. Valid as long as the session; copies are cheap.
template <class T>
class Variable {
 public:
  // Copies `data` (a container, a Section, or one element) as block `block` of `step`; it may be reused at once. No look-up, no lock,
  // no allocation, no system call.
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
  explicit Variable(const std::string& name) {
    detail::layout_of<T>(name);
    detail::checked(dc_variable(name.c_str(), &handle_));
  }
  dc_variable_t* handle_ = nullptr;
};

// This process as a client. There is one session a process at a time.
class Session {
 public:
  // Attaches as client `id` (unique in the run, usually the rank) to the server of this node, and starts that server where needed.
  //   Throws  DC_E_CONFIG, DC_E_TIMEOUT after the XML's attach time-out, DC_E_REGION_IN_USE; no session exists then.
  static Session attach(const std::string& config, int id) {
    detail::checked(dc_initialize(config.c_str(), id));
    return Session();
  }
  // Takes over a session that the C interface has started; this object ends it.
  static Session adopt() { return Session(); }

  // The other one is over afterwards: its calls throw DC_E_NOT_INITIALIZED. One that is assigned to is finalized first, as by ~Session.
  Session(Session&& other) noexcept : active_(std::exchange(other.active_, false)) {}
  Session& operator=(Session&& other) noexcept {
    if (this == &other) return *this;
    end();
    active_ = std::exchange(other.active_, false);
    return *this;
  }
  // Finalizes and cannot tell of errors: call finalize() first to hear whether all data are stored.
  ~Session() { end(); }

  // Ends all steps, waits (bounded) until what was written is durable, detaches. Throws what was not stored as wanted; the
  // session is over nevertheless.
  void finalize() {
    require_active();
    active_ = false;
    detail::checked(dc_finalize());
  }

  // Copies `data` (a container, a Section, or one element) as block `block` of `variable` at `step`; it may be reused at once.
  //   Returns  DC_OK, or DC_N_DISABLED when the variable is switched off.
  //   Throws   DC_E_UNKNOWN_NAME, DC_E_TYPE, DC_E_SHAPE, DC_E_DUPLICATE, DC_E_BACKWARD, or DC_E_FULL when the buffer stayed full for
  //            the XML's time-out; nothing was written then.
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
  //   Throws  DC_E_NOT_STORED when that is not there, DC_E_CONFIG, DC_E_SHAPE, DC_E_TYPE, DC_E_IO, DC_E_TIMEOUT; `data` is as it was.
  template <class Data>
  void read(const std::string& variable, std::int64_t step, Data&& data, std::int32_t block = 0) {
    require_active();
    const auto& section = as_mutable_section(data);
    using T = std::remove_pointer_t<decltype(section.data())>;
    if constexpr (type_of<T>() == DC_COMPOUND) detail::layout_of<T>(variable);
    detail::checked(dc_read_typed(variable.c_str(), step, block, type_of<T>(), section.data(), section.ndims(), section.extents(),
                                  section.strides_bytes()));
  }

  // The last complete step of that run in which `variable` was stored, or anything if it is empty. Throws DC_E_NOT_STORED when there is
  // none, DC_E_CONFIG, DC_E_IO, DC_E_TIMEOUT.
  std::int64_t last_step(const std::string& variable = {}) {
    require_active();
    std::int64_t step = 0;
    detail::checked(dc_last_step(variable.empty() ? nullptr : variable.c_str(), &step));
    return step;
  }

  // Looks `name` up once. Throws DC_E_TYPE when its elements are not of type T.
  template <class T>
  Variable<T> variable(const std::string& name) {
    require_active();
    return Variable<T>(name);
  }

  // Hands out block `block` of `variable` at `step` in shared memory. Throws as write.
  template <class T>
  Block<T> alloc(const std::string& variable, std::int64_t step, std::int32_t block = 0) {
    require_active();
    return Block<T>(variable, step, block);
  }

  // Sends the event `name`; its actions run on the server by their scope. Throws DC_E_UNKNOWN_NAME.
  void signal(const std::string& name, std::int64_t step) {
    require_active();
    detail::checked(dc_signal(name.c_str(), step));
  }

  // Ends `step` and all earlier ones, also when nothing was written. Throws storage errors of earlier steps (DC_E_EARLIER_IO); the
  // step has ended nevertheless.
  void end_iteration(std::int64_t step) {
    require_active();
    detail::checked(dc_end_iteration(step));
  }

  // Waits until `step` and all earlier ones are durable. Throws DC_E_TIMEOUT after `timeout`, DC_E_NOT_ENDED when this
  // client has not ended `step`, DC_E_EARLIER_IO when something was not stored as wanted.
  void flush(std::int64_t step, std::chrono::milliseconds timeout) {
    require_active();
    const auto most = static_cast<std::chrono::milliseconds::rep>(std::numeric_limits<int>::max());
    detail::checked(dc_flush(step, static_cast<int>(std::min(timeout.count(), most))));
  }

  // The state of this node group and this client; never waits. Sizes in bytes.
  dc_status_t status() {
    require_active();
    dc_status_t status;
    detail::checked(dc_status(&status));
    return status;
  }

  // Sets the integer parameter `name` of the XML for this client, from its next write on. Throws DC_E_UNKNOWN_NAME, and DC_E_ARGUMENT
  // for a constant one.
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

  // Gives the extents in elements of this client's next blocks of a variable, or of all variables of a layout; an empty list goes back
  // to the layout's expressions. Throws DC_E_UNKNOWN_NAME, DC_E_SHAPE.
  void set_shape(const std::string& name, const std::vector<std::int64_t>& extents) {
    require_active();
    detail::checked(dc_set_shape(name.c_str(), static_cast<int>(extents.size()), extents.data()));
  }
  // Gives the place of these blocks in the global array: zero-based offsets of the interior, in elements. Throws as set_shape.
  void set_position(const std::string& name, const std::vector<std::int64_t>& offsets) {
    require_active();
    detail::checked(dc_set_position(name.c_str(), static_cast<int>(offsets.size()), offsets.data()));
  }

  // The physical time of `step`, in the simulation's own unit.
  void set_time(std::int64_t step, double time) {
    require_active();
    detail::checked(dc_set_time(step, time));
  }

 private:
  Session() = default;
  void require_active() const {
    if (!active_)
      throw Error(DC_E_NOT_INITIALIZED, "this session is over: it was finalized, or moved from; call the one that is in use");
  }
  void end() noexcept {
    if (std::exchange(active_, false) && dc_finalize() < 0) return;  // nobody to tell
  }

  bool active_ = true;
};

}  // namespace damaris
