// The array arguments of writes and reads in C++: element type, address, extents and strides of a container, an array or a part of one.
// Nothing here owns or copies elements.
// Used by: damaris.hpp, in simulation processes, on the calling thread; a program names Section itself only for arrays with a halo.
// Before it: the simulation's arrays. After it: dc_write_typed, dc_read_typed.
#pragma once

#include <damaris/damaris.h>
#include <damaris/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace damaris {

namespace detail {

// Returns the dc_type of an integer of that width and sign; more than 8 bytes do not compile.
template <class T>
constexpr dc_type integer_type() {
  static_assert(sizeof(T) <= 8, "no layout has integers of more than 64 bits");
  constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<dc_type>((std::is_signed_v<T> ? DC_INT8 : DC_UINT8) + width);
}

template <class T>
inline constexpr bool is_char = std::is_same_v<T, char>;

// True for containers and built-in arrays: all types that std::data and std::size accept.
template <class C, class = void>
struct IsContiguous : std::false_type {};
template <class C>
struct IsContiguous<C, std::void_t<decltype(std::data(std::declval<const C&>())), decltype(std::size(std::declval<const C&>()))>>
    : std::true_type {};

}  // namespace detail

// Returns the dc_type of elements of type T, never DC_ANY. A class is DC_COMPOUND, for a compound type of the XML with the same members: a
// call checks their total size in bytes (DC_E_TYPE), not the members. bool, long double, pointers and classes that are not trivially
// copyable do not compile.
template <class T>
constexpr dc_type type_of() {
  using Element = std::remove_cv_t<T>;
  static_assert(!std::is_same_v<Element, bool> && !std::is_same_v<Element, long double> && !std::is_pointer_v<Element>,
                "a layout cannot hold bool, long double or pointers");
  static_assert(std::is_trivially_copyable_v<Element>, "only trivially copyable elements can be shared between processes");
  if constexpr (detail::is_char<Element>)
    return DC_CHAR;
  else if constexpr (std::is_integral_v<Element>)
    return detail::integer_type<Element>();
  else if constexpr (std::is_same_v<Element, float>)
    return DC_FLOAT32;
  else if constexpr (std::is_same_v<Element, double>)
    return DC_FLOAT64;
  else
    return DC_COMPOUND;
}

// A view of an array, or of a regular part of one such as the interior of an array with a halo.
//   Units   extents and strides in elements of T, one for each dimension, at most DC_MAX_DIMS, in the layout's dimension order: C order
//           (slowest first), unless the layout has language="fortran" (fastest first).
//   Owns    nothing: the array must live until the write or read returns.
//   Throws  DC_E_SHAPE from the constructors with lists. Whether the view fits a layout is checked by the write or read (DC_E_SHAPE,
//           DC_E_TYPE).
template <class T>
class Section {
 public:
  // `count` contiguous elements, which fit a layout of any number of dimensions with as many elements. Throws nothing.
  Section(const T* data, std::size_t count) : data_(data), ndims_(1), extents_{static_cast<std::int64_t>(count)} {}

  // A contiguous array of these extents in elements. Throws DC_E_SHAPE for more than DC_MAX_DIMS extents.
  Section(const T* data, std::initializer_list<std::int64_t> extents) : data_(data), ndims_(static_cast<int>(extents.size())) {
    copy(extents, extents_);
  }

  // An array with one stride for each dimension: the distance to the next element of that dimension, in elements of T, negative for a
  // reversed dimension. `data` is the address of element (0, 0, ...). Throws DC_E_SHAPE unless there are as many strides as extents, and
  // for more than DC_MAX_DIMS.
  Section(const T* data, std::initializer_list<std::int64_t> extents, std::initializer_list<std::ptrdiff_t> strides)
      : Section(data, extents) {
    if (strides.size() != extents.size()) throw Error(DC_E_SHAPE, "a section needs one stride for each extent");
    copy(strides, strides_bytes_);
    for (std::ptrdiff_t& stride : strides_bytes_) stride *= static_cast<std::ptrdiff_t>(sizeof(T));
    strided_ = true;
  }

  // Returns the address of the first element, which the caller owns.
  const T* data() const noexcept { return data_; }
  // Returns the number of extents, 1 to DC_MAX_DIMS; 0 for an empty list, which no layout fits (DC_E_SHAPE).
  int ndims() const noexcept { return ndims_; }
  // Returns ndims() extents in elements; valid as long as this object.
  const std::int64_t* extents() const noexcept { return extents_.data(); }
  // Returns ndims() strides in bytes, valid as long as this object; null for a contiguous array.
  const std::ptrdiff_t* strides_bytes() const noexcept { return strided_ ? strides_bytes_.data() : nullptr; }

 private:
  // Throws DC_E_SHAPE for more than DC_MAX_DIMS numbers.
  template <class Number>
  static void copy(std::initializer_list<Number> from, std::array<Number, DC_MAX_DIMS>& to) {
    if (from.size() > to.size()) throw Error(DC_E_SHAPE, "a layout has at most " + std::to_string(DC_MAX_DIMS) + " dimensions");
    std::size_t i = 0;
    for (const Number number : from) to[i++] = number;
  }

  const T* data_;
  int ndims_;
  bool strided_ = false;
  std::array<std::int64_t, DC_MAX_DIMS> extents_ = {};
  std::array<std::ptrdiff_t, DC_MAX_DIMS> strides_bytes_ = {};
};

// A Section that a read fills; after an error of the read the array has its earlier values. Constructors, units and errors as of Section.
template <class T>
class MutableSection : public Section<T> {
 public:
  MutableSection(T* data, std::size_t count) : Section<T>(data, count), data_(data) {}
  MutableSection(T* data, std::initializer_list<std::int64_t> extents) : Section<T>(data, extents), data_(data) {}
  MutableSection(T* data, std::initializer_list<std::int64_t> extents, std::initializer_list<std::ptrdiff_t> strides)
      : Section<T>(data, extents, strides), data_(data) {}

  // Returns the address of the first element, which the caller owns and a read may change.
  T* data() const noexcept { return data_; }

 private:
  T* data_;
};

// Returns the view of an argument of a write: a Section itself, a container (std::vector, std::array, std::string, ...), or a single
// element. The view borrows the argument. Other arguments do not compile. Throws nothing.
template <class T>
const Section<T>& as_section(const Section<T>& section) {
  return section;
}

// A container or a built-in array of one dimension, as std::size contiguous elements: fits a layout of any number of dimensions with as
// many.
template <class C, std::enable_if_t<detail::IsContiguous<C>::value, int> = 0>
auto as_section(const C& container) {
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(container))>>;
  static_assert(!std::is_array_v<T>, "give a Section with the extents for a built-in array of several dimensions");
  return Section<T>(std::data(container), std::size(container));
}

// A single element.
template <class T,
          std::enable_if_t<!detail::IsContiguous<T>::value && std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>, int> = 0>
auto as_section(const T& element) {
  return Section<T>(&element, 1);
}

// Returns the view of an argument of a read: a MutableSection itself, a container of the right size, or a single element. The view borrows
// the argument. A constant argument does not compile. Throws nothing.
template <class T>
const MutableSection<T>& as_mutable_section(const MutableSection<T>& section) {
  return section;
}
// The overload for an argument that is not const, which would otherwise match the overload for a single element.
template <class T>
const MutableSection<T>& as_mutable_section(MutableSection<T>& section) {
  return section;
}
// A Section can be a view of constant elements, so a read refuses it at compile time.
template <class T>
void as_mutable_section(const Section<T>& section) = delete;
template <class T>
void as_mutable_section(Section<T>& section) = delete;

// A container or a built-in array of one dimension, with as many elements as the layout (DC_E_SHAPE): a read does not resize it.
template <class C, std::enable_if_t<detail::IsContiguous<C>::value, int> = 0>
auto as_mutable_section(C& container) {
  using T = std::remove_pointer_t<decltype(std::data(container))>;
  static_assert(!std::is_const_v<T>, "a read needs an array that may be changed");
  static_assert(!std::is_array_v<T>, "give a MutableSection with the extents for a built-in array of several dimensions");
  return MutableSection<T>(std::data(container), std::size(container));
}

// A single element.
template <class T,
          std::enable_if_t<!detail::IsContiguous<T>::value && std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>, int> = 0>
auto as_mutable_section(T& element) {
  static_assert(!std::is_const_v<T>, "a read needs an element that may be changed");
  return MutableSection<T>(&element, 1);
}

}  // namespace damaris
