// What was stored, read back: a manifest and an HDF5 file that need not fit it, for `damaris verify` and for restart. HDF5 itself is not
// under test here: the file is one that it wrote, with contents that Damaris would not write.
#include <damaris/error.hpp>

#include <hdf5.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "core/base/json.hpp"
#include "fuzz.hpp"
#include "manifest/manifest.hpp"
#include "manifest/records.hpp"
#include "plugins/hdf5/restart/restart_reader.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"

using namespace damaris;
using fuzz::Input;
using fuzz::require;

namespace {

namespace fs = std::filesystem;

// Real files: HDF5 takes none that has no place in a folder. In the working directory, for as long as the program runs.
constexpr char kFolder[] = "fuzz_files.run", kFile[] = "stored.h5";
const manifest::LogName kLog = {1, "n", 0};
const std::string run_basename = std::string(kFolder) + "/run", log_path = std::string(kFolder) + "/" + kLog.of("run"),
                  file_path = std::string(kFolder) + "/" + kFile;

std::int64_t number(Input& input) {
  static constexpr std::int64_t kOdd[] = {0, -1, INT64_MAX, INT64_MIN, std::int64_t{1} << 32, std::int64_t{1} << 62, 9, 1};
  const std::uint8_t kind = input.take<std::uint8_t>();
  return kind < 240 ? kind % 5 : kOdd[kind - 240 < 8 ? kind - 240 : 7];
}

std::vector<std::int64_t> numbers(Input& input, std::size_t count) {
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(number(input));
  return list;
}

hid_t type_of(Input& input) {
  static const hid_t compound = [] {
    const hid_t type = H5Tcreate(H5T_COMPOUND, 12);
    H5Tinsert(type, "a", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "b", 8, H5T_NATIVE_INT);
    return type;
  }();
  static const hid_t text = [] {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    return type;
  }();
  static const hid_t list = H5Tvlen_create(H5T_NATIVE_DOUBLE);
  static const hid_t half = [] {
    const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
  }();
  static const hsize_t three[] = {3};
  static const hid_t array = H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, three);
  const hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT, half, compound, text, list, array, H5T_NATIVE_CHAR};
  return types[input.below(std::size(types))];
}

// One dataset "t": of another shape, type or layout than the manifest will say, or no dataset at all.
void write_file(Input& input) {
  const hid_t file = H5Fcreate(file_path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  require(file >= 0, "a file can be made");
  const std::size_t kind = input.below(12);
  if (kind == 0) {
    H5Gclose(H5Gcreate2(file, "t", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  } else if (kind == 1) {
    H5Lcreate_soft("/t", file, "t", H5P_DEFAULT, H5P_DEFAULT);
  } else if (kind != 2) {
    const int rank = static_cast<int>(input.below(10));
    hsize_t sizes[10], chunk[10];
    const bool huge = kind == 3;  // nothing of it is stored
    for (int d = 0; d < rank; ++d) {
      sizes[d] = huge ? static_cast<hsize_t>(std::max<std::int64_t>(number(input), 0)) : input.below(5);
      chunk[d] = huge ? 1 + (input.take<std::uint32_t>() >> 1) : 1 + input.below(4);
    }
    const hid_t space = kind == 4   ? H5Screate(H5S_NULL)
                        : rank == 0 ? H5Screate(H5S_SCALAR)
                                    : H5Screate_simple(rank, sizes, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (rank > 0 && kind != 4 && (huge || kind % 2 == 0)) H5Pset_chunk(properties, rank, chunk);
    const hid_t dataset = H5Dcreate2(file, "t", type_of(input), space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (dataset >= 0) H5Dclose(dataset);
    if (space >= 0) H5Sclose(space);
    H5Pclose(properties);
  }
  H5Fclose(file);
}

// What a record says of a dataset, with numbers of the input where a reader counts with them. Adds its values to `file`.
Json dataset_of(Input& input, Json& file) {
  const std::size_t rank = input.below(10);
  Json json = {{"path", input.below(8) == 0 ? "no" : "t"}, {"variable", "t"}, {"extents", numbers(input, rank)}};
  const std::uint8_t has = input.take<std::uint8_t>();
  if ((has & 1) != 0) json["position"] = numbers(input, rank);
  if ((has & 2) != 0) json["global"] = numbers(input, input.below(4) == 0 ? input.below(10) : rank);
  if ((has & 4) != 0) json["start"] = numbers(input, rank);
  if ((has & 8) != 0) json["source"] = 0;
  if ((has & 16) != 0) json["sources"] = {0, 1}, json["blocks"] = {0, 0};
  file["scale"].push_back((has & 32) != 0 ? Json(2.5) : Json());
  json["raw_bytes"] = number(input);
  file["stored_bytes"].push_back(number(input));
  file["checksums"].push_back(0);
  return json;
}

void write_log(Input& input) {
  Json datasets = Json::array(), file = {{"name", kFile}};
  for (std::size_t count = 1 + input.below(3); count > 0; --count) datasets.push_back(dataset_of(input, file));
  file["bytes"] = number(input);
  Json run = manifest::run_record({}, kLog);
  run["n"] = 1;
  const Json step = {{"n", 2},
                     {"step", 0},
                     {"complete", true},
                     {"servers", {0}},
                     {"datasets", datasets.size()},
                     {"raw_bytes", 0},
                     {"stored_bytes", 0},
                     {"files", {file}},
                     {"facts", {{{"server", 0}, {"datasets", datasets}}}}};
  std::ofstream log(log_path, std::ios::binary);
  log << manifest::sealed(run.dump()) << "\n" << manifest::sealed(step.dump()) << std::endl;
  require(log.good(), "the log can be written");
}

// Reads into memory of exactly the size that the client's variable has.
void restart(const manifest::StepEntry& step, const manifest::DatasetEntry& dataset, dc_type type, std::uint64_t element_bytes) {
  dc_variable_info_t variable = {};
  variable.name = variable.path = "t";
  variable.type = type;
  variable.type_name = "of the client";
  variable.element_bytes = element_bytes;
  variable.ndims = dataset.is_stack() ? std::max(1, dataset.box.ndims - 1) : std::max(1, dataset.box.ndims);
  dc_read_t read = {};
  read.variable = &variable;
  read.source = dataset.is_stack() ? dataset.sources[0] : dataset.source;
  read.has_position = dataset.has_position ? 1 : 0;
  std::uint64_t bytes = element_bytes;
  for (int d = 0; d < variable.ndims && d < dataset.box.ndims; ++d) {
    const int of = dataset.is_stack() && d + 1 < dataset.box.ndims ? d + 1 : d;
    read.extents[d] = dataset.box.extent(of);
    read.position[d] = dataset.box.low[of];
    bytes *= static_cast<std::uint64_t>(read.extents[d]);
  }
  if (bytes > 1 << 20) return;
  const std::unique_ptr<std::byte[]> memory(new std::byte[bytes]);
  const manifest::FoundParts found = manifest::find_parts(step, read);
  const hdf5::DatasetReader reader(file_path);
  for (const manifest::StoredPart& part : found.parts) reader.read(part, variable, {memory.get(), found.frame});
}

void restart_all(const manifest::StepEntry& step) {
  struct Kind {
    dc_type type;
    std::uint64_t bytes;
  };
  for (const manifest::FileEntry& file : step.files)
    for (const manifest::DatasetEntry& dataset : file.datasets)
      for (const Kind& kind : {Kind{DC_FLOAT64, 8}, Kind{DC_FLOAT32, 4}, Kind{DC_INT32, 4}}) try {
          restart(step, dataset, kind.type, kind.bytes);
        } catch (const Error&) {
        } catch (const Failure&) {
        }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  fs::create_directory(kFolder);
  std::atexit([] { fs::remove_all(kFolder); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  write_file(input);
  write_log(input);
  const manifest::Verification result = hdf5::verify(run_basename, {});
  require(result.steps == 1, "a record is a step");
  manifest::Manifest manifest(run_basename);
  manifest.read_on();
  try {
    restart_all(manifest.with_files(0));
  } catch (const Error& error) {
    require(error.code() == DC_E_IO && !result.damaged.empty(), "what cannot be described is damaged", error.sentence());
  }
  return 0;
}
