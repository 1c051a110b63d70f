// Handles of HDF5 on objects that cannot be written any more.
#include "plugins/hdf5/file/handle.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "support/file_limit.hpp"
#include "support/temp_folder.hpp"

using namespace damaris;
using namespace damaris::hdf5;
using damaris::test::FileLimit;
using damaris::test::TempFolder;

TEST_CASE("a failure of HDF5 names the system error that caused it") {
  const TempFolder folder;
  const QuietErrors quiet;
  int error = 0;
  try {
    checked(H5Fopen(folder.file("none.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", "none.h5");
  } catch (const Failure& failure) {
    error = failure.system_error();
  }
  CHECK(error == ENOENT);
}

TEST_CASE("a file that cannot be written is closed once, with the cause, and HDF5 keeps nothing") {
  const TempFolder folder;
  const std::string path = (folder.path() / "a.h5").string();
  const QuietErrors quiet;
  File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "make", path);
  const hid_t id = file.id();
  std::string cause;
  {
    const FileLimit none(0);
    try {
      file.close("close", path);
    } catch (const Failure& failure) {
      cause = failure.what();
    }
  }
  CHECK(cause.find("File too large") != std::string::npos);
  CHECK(H5Iis_valid(id) == 0);
}
