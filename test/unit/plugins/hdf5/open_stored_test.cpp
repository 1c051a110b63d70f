// Files that somebody else made to be taken for ours: opened for their own values, and for nothing else.
#include "plugins/hdf5/restart/stored_values.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "manifest/output_folder.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace damaris;
using namespace damaris::hdf5;
using damaris::test::TempFolder;

constexpr hsize_t kFour[1] = {4};

// A file of four numbers, /v; `more` adds to it.
std::string file_with_values(const std::string& path, const std::function<void(hid_t file)>& more = {}) {
  const File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create", path);
  const Space space(H5Screate_simple(1, kFour, nullptr), "make a space");
  const Dataset values(H5Dcreate2(file.id(), "v", H5T_NATIVE_INT, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "create");
  const int numbers[4] = {1, 2, 3, 4};
  checked(H5Dwrite(values.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers), "write");
  if (more) more(file.id());
  return path;
}

void create(hid_t file, const char* name, const Space& space, const Properties& how) {
  const Dataset made(H5Dcreate2(file, name, H5T_NATIVE_INT, space.id(), H5P_DEFAULT, how.id(), H5P_DEFAULT), "create", name);
}

}  // namespace

TEST_CASE("values behind a link or a mapping to another file are refused, and a pipe there is not waited for") {
  const TempFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string path = file_with_values(folder.file("foreign.h5"), [&](hid_t file) {
    const Space four(H5Screate_simple(1, kFour, nullptr), "make a space");
    checked(H5Lcreate_external(pipe.c_str(), "/v", file, "link", H5P_DEFAULT, H5P_DEFAULT), "link");
    const Properties outside(H5Pcreate(H5P_DATASET_CREATE), "make properties");
    checked(H5Pset_external(outside.id(), pipe.c_str(), 0, H5F_UNLIMITED), "set external");
    create(file, "outside", four, outside);
    const Properties mapped(H5Pcreate(H5P_DATASET_CREATE), "make properties");
    checked(H5Pset_virtual(mapped.id(), four.id(), pipe.c_str(), "/v", four.id()), "map");
    create(file, "mapped", four, mapped);
  });
  const QuietErrors quiet;
  const File file = open_stored(path);
  CHECK_NOTHROW(open_dataset(file, "v"));
  CHECK_THROWS_AS(open_dataset(file, "link"), Failure);
  CHECK_THROWS_WITH(open_dataset(file, "outside"), Catch::Contains("are in another file, which Damaris never writes"));
  CHECK_THROWS_WITH(open_dataset(file, "mapped"), Catch::Contains("are in another file, which Damaris never writes"));
  CHECK_THROWS_AS(open_stored(pipe), Failure);
}

TEST_CASE("values in the header of a dataset, of which HDF5 reads more than exist, are refused") {
  const TempFolder folder;
  const std::string path = file_with_values(folder.file("foreign.h5"), [&](hid_t file) {
    const Space four(H5Screate_simple(1, kFour, nullptr), "make a space");
    const Properties compact(H5Pcreate(H5P_DATASET_CREATE), "make properties");
    checked(H5Pset_layout(compact.id(), H5D_COMPACT), "set the layout");
    create(file, "compact", four, compact);
  });
  CHECK_THROWS_WITH(open_dataset(open_stored(path), "compact"), Catch::Contains("in its header, which Damaris never writes"));
}

TEST_CASE("a link to what the system generates is neither read nor summed: it may block forever") {
  const TempFolder folder;
  const std::string link = folder.file("storm.s0.i0.h5");
  std::filesystem::create_symlink("/proc/self/status", link);
  CHECK_THROWS_WITH(damaris::manifest::sum_of_file(link), Catch::Contains("is not a regular file"));
  CHECK_THROWS_WITH(open_stored(link), Catch::Contains("is not a regular file"));
}

TEST_CASE("a lock on the file, which any reader can take, does not prevent reading") {
  const TempFolder folder;
  const std::string path = file_with_values(folder.file("locked.h5"));
  const int other = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  CHECK_NOTHROW(open_dataset(open_stored(path), "v"));
  ::close(other);
}

TEST_CASE("a dataset without any value is not read, whatever size it claims") {
  const TempFolder folder;
  const std::string path = file_with_values(folder.file("huge.h5"), [](hid_t file) {
    const hsize_t extents[1] = {hsize_t{1} << 50}, chunk[1] = {1 << 20};
    const Space space(H5Screate_simple(1, extents, nullptr), "make a space");
    const Properties chunked(H5Pcreate(H5P_DATASET_CREATE), "make properties");
    checked(H5Pset_chunk(chunked.id(), 1, chunk), "set the chunk");
    create(file, "huge", space, chunked);
  });
  const File file = open_stored(path);
  CHECK_THROWS_WITH(checksum_of_values(open_dataset(file, "huge"), "huge"), Catch::Contains("the file has no value of it"));
}
