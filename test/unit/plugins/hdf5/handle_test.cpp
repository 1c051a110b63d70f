// Handles of HDF5 on objects that cannot be written any more.
#include "plugins/hdf5/handle.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "plugins/hdf5/failure.hpp"
#include "support/file_limit.hpp"
#include "support/temp_folder.hpp"

using namespace damaris::hdf5;
using damaris::test::FileLimit;
using damaris::test::TempFolder;

TEST_CASE("a file that cannot be written is closed once, with the cause, and HDF5 keeps nothing of it") {
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
