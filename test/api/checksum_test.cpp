// Checksums taken at hand-over: what is changed in the buffer after it is not stored, and the client gets the error. In place.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

std::string xml(const TempFolder& folder, bool checksum) {
  return "<simulation name='checksum'><architecture><dedicated cores='0'/><buffer size='64KiB' checksum='" +
         std::string(checksum ? "true" : "false") +
         "'/></architecture><data><layout name='line' type='int' dimensions='4'/><variable name='height' layout='line'/></data>"
         "<storage><hdf5 basename='" +
         folder.file("out") + "'/></storage></simulation>";
}

// Commits a block and then writes to it, which the rules forbid. Returns what the end of the step says.
int change_after_commit(bool checksum, TempFolder& folder) {
  if (dc_initialize(folder.write("checksum.xml", xml(folder, checksum)).c_str(), 0) != DC_OK) FAIL(dc_last_error());
  const int four[4] = {1, 2, 3, 4};
  CHECK(dc_write("height", 0, four) == DC_OK);
  CHECK(dc_end_iteration(0) == DC_OK);
  void* data = nullptr;
  CHECK(dc_alloc("height", 1, 0, &data) == DC_OK);
  int* const values = static_cast<int*>(data);
  for (int i = 0; i < 4; ++i) values[i] = i;
  CHECK(dc_commit("height", 1, 0) == DC_OK);
  values[2] = 7;
  return dc_end_iteration(1);
}

std::string record(const TempFolder& folder) {
  std::ifstream file(folder.file("out.jsonl"));  // the list of the steps
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a block that changes after its hand-over is not stored, the client gets the error, and the manifest says why") {
  TempFolder folder;
  CHECK(change_after_commit(true, folder) == DC_E_EARLIER_IO);
  const std::string said = dc_last_error();
  CHECK_THAT(said, Catch::Contains("'height' (block 0) of client 0 has changed in the buffer since it was published in step 1"));
  CHECK(dc_finalize() == DC_OK);
  CHECK_THAT(record(folder), Catch::Contains("has changed in the buffer"));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.path().filename().string().find(".s0.i") != std::string::npos ? 1 : 0;
  CHECK(files == 1);
}

TEST_CASE("without checksums at hand-over a change is not noticed") {
  TempFolder folder;
  CHECK(change_after_commit(false, folder) == DC_OK);
  CHECK(dc_finalize() == DC_OK);
}
