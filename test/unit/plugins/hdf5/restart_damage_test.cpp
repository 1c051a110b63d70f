// What a run to go on from has lost, or what has changed in it, is named and not read.
#include <catch2/catch.hpp>

#include "unit/plugins/hdf5/earlier_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

TEST_CASE("a file that is missing, truncated or not HDF5 is named") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  const std::string path = earlier.fixture.path(4);
  const auto size = std::filesystem::file_size(path);
  const auto refusal = [&] {
    Later later(earlier.record, earlier.variables);
    Question<float> question(earlier.variables[0], 4, {2, 2});
    CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_IO);
    CHECK_THAT(later.host.failure, Contains(path));
    return later.host.failure;
  };
  std::filesystem::resize_file(path, size / 2);
  CHECK_THAT(refusal(), Contains("it was stored with " + std::to_string(size)));
  std::ofstream(path, std::ios::trunc) << std::string(size, 'x');
  CHECK_THAT(refusal(), Contains("does not match its checksum"));
  std::filesystem::remove(path);
  CHECK_THAT(refusal(), Contains("No such file or directory"));
}

TEST_CASE("a file with a changed byte is not read") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  Question<float> question(earlier.variables[0], 4, {2, 2});
  Later(earlier.record, earlier.variables).reads(question.at({0, 0}));
  const std::uint64_t offset = offset_of_values(earlier.fixture.path(4), "fields/theta");
  std::fstream file(earlier.fixture.path(4), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put('\x55');
  file.close();
  Later later(earlier.record, earlier.variables);
  CHECK(later.plugin.read(question.read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("does not match its checksum") && Contains("continue from another step"));
}

TEST_CASE("a file that was replaced after it was read is checked again") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 2});
  later.reads(question.at({0, 0}));
  const std::string path = earlier.fixture.path(4);
  std::filesystem::copy(path, path + ".new");
  std::fstream file(path + ".new", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset_of_values(path, "fields/theta")));
  file.put('\x55');
  file.close();
  std::filesystem::rename(path + ".new", path);
  CHECK(later.plugin.read(question.read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("does not match its checksum"));
}

TEST_CASE("a damaged line of a log is named if the step that it may contain is requested, and later steps are read") {
  Earlier earlier;
  earlier.record.add_text("{\"step\": 3, \"fil\n");
  earlier.record.add(earlier.step());
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 2});
  later.reads(question.at({0, 0}));
  question.read.step = 3;
  CHECK(later.plugin.read(question.read) == DC_E_NOT_STORED);
  CHECK_THAT(later.host.failure, Contains("s3.jsonl:1: this line is damaged: its checksum does not match"));
}

TEST_CASE("a step is not read if a damaged line after it may contradict it") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  earlier.record.add_text("{\"step\": 5, \"fil\n");
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("s3.jsonl:3: this line is damaged") && Contains("restore the log"));
}

TEST_CASE("a dataset with extents other than those in the manifest is refused") {
  Earlier earlier;
  manifest::StepEntry step = earlier.step();
  step.files[0].datasets[0].box.high[1] = 5;
  earlier.record.add(step);
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("has other extents than in the manifest"));
}

// What the program lets HDF5 do with its errors, while it lives.
class CountedErrors {
 public:
  CountedErrors() {
    H5Eget_auto2(H5E_DEFAULT, &before_, &data_);
    H5Eset_auto2(H5E_DEFAULT, count, this);
  }
  ~CountedErrors() { H5Eset_auto2(H5E_DEFAULT, before_, data_); }
  CountedErrors(const CountedErrors&) = delete;
  CountedErrors& operator=(const CountedErrors&) = delete;
  bool is_set() const {
    H5E_auto2_t now = nullptr;
    void* data = nullptr;
    H5Eget_auto2(H5E_DEFAULT, &now, &data);
    return now == count && data == this;
  }

  int printed = 0;

 private:
  static herr_t count(hid_t, void* self) { return ++static_cast<CountedErrors*>(self)->printed, 0; }

  H5E_auto2_t before_ = nullptr;
  void* data_ = nullptr;
};

TEST_CASE("a failure inside the plugin makes HDF5 print nothing, and the program's settings for HDF5's errors stay unchanged") {
  Earlier earlier;
  manifest::StepEntry step = earlier.step();
  step.files[0].datasets[0].path = "fields/none";
  earlier.record.add(step);
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 2});
  const CountedErrors errors;
  CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_IO);
  CHECK(errors.printed == 0);
  CHECK(errors.is_set());
  CHECK(H5Fopen(later.folder.file("none.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
  CHECK(errors.printed == 1);
}

}  // namespace
}  // namespace damaris::test
