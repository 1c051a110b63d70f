#include "hdf5_file.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <limits>
#include <new>

#include "../layout/memory.hpp"
#include "handle.hpp"
#include "new_dataset.hpp"

// From HDF5 1.14 on, drivers have a separate header.
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace damaris::hdf5 {
namespace {

// Copied by HDF5 from the access properties to the open file.
struct Info {
  WriteTarget* target;
};

// An open file as HDF5 sees it; HDF5's part comes first.
struct DriverFile {
  H5FD_t base = {};
  WriteTarget* target = nullptr;
  haddr_t end_of_allocation = 0;
  haddr_t end_of_file = 0;
};

DriverFile& of(H5FD_t* file) { return *reinterpret_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *reinterpret_cast<const DriverFile*>(file); }

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const Info*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) DriverFile;
  if (file == nullptr) return nullptr;
  file->target = info->target;
  file->end_of_file = info->target->size();
  return &file->base;
}

herr_t close(H5FD_t* file) {
  delete &of(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const std::less<const WriteTarget*> before;
  return before(of(a).target, of(b).target) ? -1 : before(of(b).target, of(a).target) ? 1 : 0;
}

// Metadata is aggregated into few writes; raw data is not, because it comes in bricks.
herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_allocation; }

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).end_of_allocation = address;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_file; }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* data) {
  return of(file).target->read(address, data, size) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size, const void* data) {
  of(file).target->write(type == H5FD_MEM_DRAW ? WriteTarget::Kind::raw : WriteTarget::Kind::metadata, address, data, size);
  of(file).end_of_file = std::max(of(file).end_of_file, address + size);
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  if (of(file).end_of_file == of(file).end_of_allocation) return 0;
  of(file).target->resize(of(file).end_of_allocation);
  of(file).end_of_file = of(file).end_of_allocation;
  return 0;
}

H5FD_class_t make_driver() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);  // from the range reserved for users of the library
#endif
  driver.name = "damaris";
  driver.maxaddr = std::numeric_limits<std::int64_t>::max();
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Info);
  driver.open = open;
  driver.close = close;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  const H5FD_mem_t dichotomy[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(dichotomy), std::end(dichotomy), driver.fl_map);
  return driver;
}

// Registered once, and again after an application has closed HDF5.
hid_t driver_id() {
  static const H5FD_class_t driver = make_driver();
  static hid_t id = H5I_INVALID_HID;
  if (H5Iget_type(id) != H5I_VFL) id = checked(H5FDregister(&driver), "register the file driver");
  return id;
}

constexpr hsize_t kAlignedFrom = hsize_t{256} << 10, kPage = 4096;  // bytes

Properties access_properties(WriteTarget& target) {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  // For compact groups and attributes larger than 64 KiB (lists of many clients); readable since HDF5 1.8.
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  // The kernel copies whole pages faster.
  checked(H5Pset_alignment(access.id(), kAlignedFrom, kPage), "set the file's alignment");
  const Info info = {&target};  // it must outlive them
  checked(H5Pset_driver(access.id(), driver_id(), &info), "set the file's driver");
  return access;
}

// HDF5 would take a file whose size is refused for an empty one.
hid_t open_file(const std::string& path, Hdf5File::Mode mode, const Properties& access, WriteTarget& target) {
  require_memory_for_file(path);
  if (target.size() == 0 && target.error() != 0) throw_system_failure(target.error(), "look at", path);
  return mode == Hdf5File::Mode::create ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id())
                                        : H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id());
}

}  // namespace

Hdf5File::Hdf5File(int descriptor, const std::string& path, Mode mode)
    : path_(path),
      target_(descriptor),
      file_(open_file(path, mode, access_properties(target_), target_), "open as an HDF5 file", path),
      links_(link_properties()),
      contiguous_(contiguous_properties()) {}

void Hdf5File::check() const {
  if (target_.error() != 0) throw_system_failure(target_.error(), "write to", path_);
}

void Hdf5File::close() {
  file_.close("close", path_);
  target_.trim();
  check();
}

std::uint32_t Hdf5File::checksum() {
  std::uint32_t checksum = 0;
  if (!target_.checksum(checksum)) throw_system_failure(target_.error() != 0 ? target_.error() : EIO, "read again", path_);
  return checksum;
}

}  // namespace damaris::hdf5
