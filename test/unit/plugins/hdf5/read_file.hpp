// Reads a file back with HDF5's own calls, to compare with what was handed to the plugin.
// Used by: tests of the hdf5 plugin, one thread.
// Before it: a file under its final name. After it: REQUIRE.
#pragma once

#include <hdf5.h>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace damaris::test {

template <class Value>
hid_t native_type();
template <>
inline hid_t native_type<char>() {
  return H5T_NATIVE_CHAR;
}
template <>
inline hid_t native_type<std::int8_t>() {
  return H5T_NATIVE_INT8;
}
template <>
inline hid_t native_type<std::int16_t>() {
  return H5T_NATIVE_INT16;
}
template <>
inline hid_t native_type<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
inline hid_t native_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
inline hid_t native_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
inline hid_t native_type<std::uint16_t>() {
  return H5T_NATIVE_UINT16;
}
template <>
inline hid_t native_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
inline hid_t native_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
inline hid_t native_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t native_type<double>() {
  return H5T_NATIVE_DOUBLE;
}

class ReadFile {
 public:
  explicit ReadFile(const std::string& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    INFO(path);
    REQUIRE(file_ >= 0);
  }
  ~ReadFile() { H5Fclose(file_); }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  hid_t id() const { return file_; }

  bool has(const std::string& path) const {
    htri_t found = 1;
    H5E_BEGIN_TRY {  // below a dataset there is nothing, and HDF5 would say so at length
      for (std::size_t end = path.find('/'); end != std::string::npos && found > 0; end = path.find('/', end + 1))
        found = H5Lexists(file_, path.substr(0, end).c_str(), H5P_DEFAULT);
      if (found > 0) found = H5Lexists(file_, path.c_str(), H5P_DEFAULT);
    }
    H5E_END_TRY
    return found > 0;
  }
  std::vector<hsize_t> extents(const std::string& path) const {
    const hid_t set = open(path), space = H5Dget_space(set);
    std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    H5Sclose(space);
    H5Dclose(set);
    return extents;
  }
  // The values of a dataset; the type in the file must be the one asked for.
  template <class Value>
  std::vector<Value> values(const std::string& path) const {
    const hid_t set = open(path), type = H5Dget_type(set);
    CHECK(H5Tequal(type, native_type<Value>()) > 0);
    H5Tclose(type);
    H5Dclose(set);
    return converted<Value>(path);
  }
  // The values of a dataset of any type, converted by HDF5.
  template <class Value>
  std::vector<Value> converted(const std::string& path) const {
    const hid_t set = open(path);
    std::vector<Value> values = read<Value>(set, native_type<Value>());
    H5Dclose(set);
    return values;
  }
  std::size_t element_bytes(const std::string& path) const {
    const hid_t set = open(path), type = H5Dget_type(set);
    const std::size_t bytes = H5Tget_size(type);
    H5Tclose(type);
    H5Dclose(set);
    return bytes;
  }
  // The values as they lie in memory, with the type of the file.
  std::vector<char> bytes(const std::string& path) const {
    const hid_t set = open(path), type = H5Dget_type(set), space = H5Dget_space(set);
    std::vector<char> bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
    CHECK(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
    return bytes;
  }

  // Attributes of the object at `path`, "/" for the file. Scalars come as lists of one.
  bool has_attribute(const std::string& path, const std::string& name) const {
    return H5Aexists_by_name(file_, path.c_str(), name.c_str(), H5P_DEFAULT) > 0;
  }
  template <class Value>
  std::vector<Value> attribute(const std::string& path, const std::string& name) const {
    const hid_t attribute = open_attribute(path, name), space = H5Aget_space(attribute);
    std::vector<Value> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (!values.empty()) CHECK(H5Aread(attribute, native_type<Value>(), values.data()) >= 0);
    H5Sclose(space);
    H5Aclose(attribute);
    return values;
  }
  std::string text(const std::string& path, const std::string& name) const {
    const hid_t attribute = open_attribute(path, name), type = H5Aget_type(attribute);
    char* read = nullptr;
    CHECK(H5Aread(attribute, type, &read) >= 0);
    const std::string text = read == nullptr ? "" : read;
    H5free_memory(read);
    H5Tclose(type);
    H5Aclose(attribute);
    return text;
  }
  std::vector<std::string> texts(const std::string& path, const std::string& name) const {
    const hid_t attribute = open_attribute(path, name), type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    std::vector<char*> read(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (!read.empty()) CHECK(H5Aread(attribute, type, read.data()) >= 0);
    const std::vector<std::string> list(read.begin(), read.end());
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, read.data());
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return list;
  }

 private:
  hid_t open(const std::string& path) const {
    INFO(path);
    const hid_t set = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    REQUIRE(set >= 0);
    return set;
  }
  hid_t open_attribute(const std::string& path, const std::string& name) const {
    INFO(path << " @ " << name);
    const hid_t attribute = H5Aopen_by_name(file_, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(attribute >= 0);
    return attribute;
  }
  template <class Value>
  std::vector<Value> read(hid_t set, hid_t type) const {
    const hid_t space = H5Dget_space(set);
    std::vector<Value> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    CHECK(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Sclose(space);
    return values;
  }

  hid_t file_;
};

}  // namespace damaris::test
