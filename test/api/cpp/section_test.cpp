// What the C++ layer hands to the C interface: element types, extents and strides of containers, sections and elements.
// Runs in one process; the recorder stands for libdamaris.
// Before it: damaris.hpp. After it: ctest.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <damaris/damaris.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "recorder/recorder.h"

namespace {

using damaris::Section;

struct Particle {
  double position[3];
  int tag;
};

template <class T>
void set_layout(std::initializer_list<std::int64_t> extents) {
  answer = {};
  answer.layout.type = damaris::type_of<T>();
  answer.layout.element_bytes = sizeof(T);
  answer.layout.bytes = sizeof(T);
  for (const std::int64_t extent : extents) {
    answer.layout.extents[answer.layout.ndims++] = extent;
    answer.layout.bytes *= static_cast<std::uint64_t>(extent);
  }
}

template <class T>
int written_type() {
  answer = {};
  auto session = damaris::Session::adopt();
  session.write("x", 1, std::vector<T>(3));
  CHECK(recorded.ndims == 1);
  CHECK(recorded.extents[0] == 3);
  return recorded.type;
}

int code_of(dc_code expected, const std::string& sentence, const std::function<void()>& call) {
  try {
    call();
  } catch (const damaris::Error& error) {
    CHECK(error.code() == expected);
    CHECK_THAT(error.what(), Catch::Contains(sentence));
    return error.code();
  }
  FAIL("nothing was thrown");
  return 0;
}

}  // namespace

TEST_CASE("a read hands over the array itself, which must be one that may be changed") {
  answer = {};
  auto session = damaris::Session::adopt();
  std::vector<float> halo(60);
  session.read("th", 7, damaris::MutableSection<float>(&halo[13], {3, 4}, {10, 1}), 2);
  CHECK(std::string(recorded.function) == "read_typed");
  CHECK(recorded.step == 7);
  CHECK(recorded.block == 2);
  CHECK(recorded.type == DC_FLOAT32);
  CHECK(recorded.address == &halo[13]);
  CHECK(recorded.extents[1] == 4);
  CHECK(recorded.strides[0] == 40);
  session.read("th", 7, halo);
  CHECK(recorded.address == halo.data());
  CHECK(recorded.extents[0] == 60);
  double time = 0;
  session.read("time", 7, time);
  CHECK(recorded.address == &time);
  CHECK(recorded.type == DC_FLOAT64);
}

TEST_CASE("the last step is asked of a variable, or of the run") {
  answer = {};
  answer.parameter = 42;
  auto session = damaris::Session::adopt();
  CHECK(session.last_step("th") == 42);
  CHECK(std::string(recorded.name) == "th");
  CHECK(session.last_step() == 42);
  CHECK(std::string(recorded.name) == "any variable");
  answer.code = DC_E_NOT_STORED;
  code_of(DC_E_NOT_STORED, "the sentence of the library", [&] { session.last_step(); });
  answer = {};
}

TEST_CASE("every element type is named to the C interface") {
  CHECK(written_type<signed char>() == DC_INT8);
  CHECK(written_type<short>() == DC_INT16);
  CHECK(written_type<int>() == DC_INT32);
  CHECK(written_type<long>() == DC_INT64);
  CHECK(written_type<long long>() == DC_INT64);
  CHECK(written_type<unsigned char>() == DC_UINT8);
  CHECK(written_type<unsigned short>() == DC_UINT16);
  CHECK(written_type<unsigned>() == DC_UINT32);
  CHECK(written_type<unsigned long>() == DC_UINT64);
  CHECK(written_type<float>() == DC_FLOAT32);
  CHECK(written_type<double>() == DC_FLOAT64);
  CHECK(written_type<char>() == DC_CHAR);
}

TEST_CASE("containers, built-in arrays and single elements arrive uncopied") {
  answer = {};
  auto session = damaris::Session::adopt();
  const std::array<int, 4> numbers = {1, 2, 3, 4};
  session.write("numbers", 5, numbers, 2);
  CHECK(std::string(recorded.function) == "write_typed");
  CHECK(std::string(recorded.name) == "numbers");
  CHECK(recorded.step == 5);
  CHECK(recorded.block == 2);
  CHECK(recorded.address == numbers.data());
  CHECK(recorded.extents[0] == 4);

  const float built_in[6] = {};
  session.write("x", 1, built_in);
  CHECK(recorded.address == built_in);
  CHECK(recorded.extents[0] == 6);

  const double element = 3;
  session.write("x", 1, element);
  CHECK(recorded.address == &element);
  CHECK(recorded.extents[0] == 1);

  const std::string text = "abc";
  session.write("x", 1, text);
  CHECK(recorded.type == DC_CHAR);
  CHECK(recorded.extents[0] == 3);
}

TEST_CASE("a section hands over extents, and strides in bytes") {
  answer = {};
  auto session = damaris::Session::adopt();
  const std::vector<double> field(48);
  session.write("x", 1, Section<double>(field.data(), {6, 8}));
  CHECK(recorded.ndims == 2);
  CHECK(recorded.extents[1] == 8);
  session.write("x", 1, Section<double>(&field[9], {4, 6}, {8, 1}));
  CHECK(recorded.address == &field[9]);
  CHECK(recorded.extents[0] == 4);
  CHECK(recorded.extents[1] == 6);
  CHECK(recorded.strides[0] == 64);
  CHECK(recorded.strides[1] == 8);
}

TEST_CASE("a section with another number of strides than extents, or with too many, is refused") {
  const double value = 0;
  code_of(DC_E_SHAPE, "one stride for each extent", [&] { Section<double>(&value, {1, 1}, {1}); });
  code_of(DC_E_SHAPE, "at most 8", [&] { Section<double>(&value, {1, 1, 1, 1, 1, 1, 1, 1, 1}); });
}

TEST_CASE("a prepared variable writes through its handle and checks its element type once") {
  set_layout<double>({4});
  auto session = damaris::Session::adopt();
  const auto variable = session.variable<double>("pressure");
  variable.write(7, std::vector<double>(4), 1);
  CHECK(std::string(recorded.function) == "write_to_typed");
  CHECK(std::string(recorded.name) == "the handle");
  CHECK(recorded.step == 7);
  CHECK(recorded.block == 1);
  code_of(DC_E_TYPE, "'pressure'", [&] { session.variable<float>("pressure"); });
}

TEST_CASE("a class is a compound type and must have its size") {
  set_layout<Particle>({2});
  auto session = damaris::Session::adopt();
  session.write("particles", 1, std::vector<Particle>(2));
  CHECK(recorded.type == DC_COMPOUND);
  answer.layout.element_bytes = 40;
  code_of(DC_E_TYPE, "elements of 40 bytes", [&] { session.write("particles", 1, std::vector<Particle>(2)); });
}

TEST_CASE("a block is the memory that alloc gives, until commit") {
  std::array<double, 6> memory = {};
  set_layout<double>({2, 3});
  answer.block = memory.data();
  auto session = damaris::Session::adopt();
  auto block = session.alloc<double>("energy", 4, 1);
  CHECK(std::string(recorded.function) == "alloc");
  CHECK(recorded.step == 4);
  CHECK(recorded.block == 1);
  CHECK(block.data() == memory.data());
  CHECK(block.size() == 6);
  CHECK(block.extents() == std::vector<std::int64_t>{2, 3});
  for (double& value : block) value = 2;
  CHECK(memory[5] == 2);
  auto moved = std::move(block);
  CHECK(block.data() == nullptr);
  moved.commit();
  CHECK(std::string(recorded.function) == "commit");
  CHECK(std::string(recorded.name) == "energy");
  CHECK(recorded.block == 1);
  CHECK(moved.data() == nullptr);
  CHECK(moved.size() == 0);
}

TEST_CASE("a notice is returned and an error is thrown with the library's sentence") {
  answer = {};
  auto session = damaris::Session::adopt();
  answer.code = DC_N_DISABLED;
  CHECK(session.write("x", 1, 2.0) == DC_N_DISABLED);
  session.signal("x", 1);
  answer.code = DC_E_FULL;
  code_of(DC_E_FULL, "the sentence of the library", [&] { session.write("x", 1, 2.0); });
  code_of(DC_E_FULL, "the sentence of the library", [&] { session.end_iteration(1); });
  answer = {};
}

TEST_CASE("a session finalizes once, also when it is moved or left by an exception") {
  answer = {};
  {
    auto first = damaris::Session::adopt();
    auto second = std::move(first);
    second.finalize();
    CHECK(std::string(recorded.function) == "finalize");
    std::strcpy(recorded.function, "nothing since");
  }
  CHECK(std::string(recorded.function) == "nothing since");
  try {
    auto session = damaris::Session::adopt();
    throw 1;
  } catch (int) {
  }
  CHECK(std::string(recorded.function) == "finalize");
}

TEST_CASE("settings reach the C interface") {
  answer = {};
  auto session = damaris::Session::adopt();
  session.set_shape("grid", {4, 5});
  CHECK(std::string(recorded.function) == "set_shape");
  CHECK(recorded.ndims == 2);
  CHECK(recorded.extents[1] == 5);
  session.set_position("grid", {6, 7});
  CHECK(std::string(recorded.function) == "set_position");
  CHECK(recorded.extents[0] == 6);
  session.set_parameter("n", 8);
  CHECK(recorded.value == 8);
  answer.parameter = 9;
  CHECK(session.parameter("n") == 9);
  session.flush(3, std::chrono::seconds(2));
  CHECK(recorded.value == 2000);
  session.flush(3, std::chrono::hours(10000));
  CHECK(recorded.value == std::numeric_limits<int>::max());
  session.flush(3, std::chrono::milliseconds(-1 - (std::int64_t{1} << 32)));
  CHECK(recorded.value < 0);
  session.set_time(3, 1.5);
  CHECK(recorded.value == 1500);
  CHECK(session.status().writes == 7);
}
