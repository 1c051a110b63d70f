// What stands where nobody has written, member by member.
#include "plugins/hdf5/file/new_dataset.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

namespace {

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("an array inside a compound is filled element by element, for each type") {
  const auto elements_of = [](dc_type type, std::uint64_t bytes) {
    const dc_field_t field = {"values", type, 3, 1};
    dc_variable_info_t variable = {};
    variable.type = DC_COMPOUND;
    variable.element_bytes = 1 + 3 * bytes;
    variable.field_count = 1;
    variable.fields = &field;
    return damaris::hdf5::fill_of(variable);
  };
  for (const std::size_t k : {0, 1, 2}) {
    CHECK(at<std::int8_t>(elements_of(DC_INT8, 1), 1 + k) == -127);
    CHECK(at<std::int16_t>(elements_of(DC_INT16, 2), 1 + 2 * k) == -32767);
    CHECK(at<std::int32_t>(elements_of(DC_INT32, 4), 1 + 4 * k) == -2147483647);
    CHECK(at<std::int64_t>(elements_of(DC_INT64, 8), 1 + 8 * k) == -9223372036854775806);
    CHECK(at<std::uint8_t>(elements_of(DC_UINT8, 1), 1 + k) == 255);
    CHECK(at<std::uint16_t>(elements_of(DC_UINT16, 2), 1 + 2 * k) == 65535);
    CHECK(at<std::uint32_t>(elements_of(DC_UINT32, 4), 1 + 4 * k) == 4294967295);
    CHECK(at<std::uint64_t>(elements_of(DC_UINT64, 8), 1 + 8 * k) == 18446744073709551614U);
    CHECK(std::isnan(at<float>(elements_of(DC_FLOAT32, 4), 1 + 4 * k)));
    CHECK(std::isnan(at<double>(elements_of(DC_FLOAT64, 8), 1 + 8 * k)));
  }
}
