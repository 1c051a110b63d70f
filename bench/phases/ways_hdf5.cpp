// The ways of writing HDF5 that the mini-app lacks, and the copy that every way is measured against.
// Used by: each rank of the mini-app, which loads it; DAMARIS_BENCH_WAY and _GROUPS say what it does.
// Before it: the values of a tile. After it: cm1out_<output>_<group>.h5 with datasets as back end fpp makes them.
#include <hdf5.h>

#include <map>
#include <vector>

#include "block.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kGrowth = 16 << 20, kTracked = 512 << 10;  // bytes, of the core driver

struct Box {
  Triple first, count;
};

template <class Result>
Result need(Result result, const std::string& action) {
  if (result < 0) fail("cannot " + action + "; look at HDF5's messages above, and at the room in --folder");
  return result;
}

// What a rank remembers between its calls.
struct State {
  std::string way = setting("DAMARIS_BENCH_WAY");
  MPI_Comm members = MPI_COMM_NULL;  // processes that share a file
  int group = 0, member = 0;
  std::map<std::string, Box> boxes;                  // of each variable, what the file holds
  std::map<std::string, std::vector<float>> copies;  // way copy: memory that was touched before
  std::vector<float> packed, gathered;
  hid_t file = -1, transfer = H5P_DEFAULT;

  bool writes() const { return way != "copy" && (way != "one-writer" || member == 0); }
};

State& state() {
  static State only;
  return only;
}

void join_group(State& at, MPI_Comm all) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  const bool alone = at.way.rfind("file-per-process", 0) == 0;
  const int groups = alone                     ? ranks
                     : at.way == "independent" ? 1
                                               : std::min(ranks, std::max(1, std::atoi(setting("DAMARIS_BENCH_GROUPS").c_str())));
  at.group = rank * groups / ranks;
  MPI_Comm_split(all, at.group, rank, &at.members);
  MPI_Comm_rank(at.members, &at.member);
}

hid_t file_access(const State& at) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (at.way == "file-per-process-core") {
    need(H5Pset_fapl_core(access, kGrowth, true), "choose the core driver");
    need(H5Pset_core_write_tracking(access, true, kTracked), "let the core driver write only what is new");
  } else if (at.way == "grouped" || at.way == "independent") {
    need(H5Pset_fapl_mpio(access, at.members, MPI_INFO_NULL), "choose MPI-IO");
    need(H5Pset_coll_metadata_write(access, true), "join the writes of metadata");
  }
  return access;
}

// The smallest box around the blocks of all members. Collective over them the first time.
const Box& box_around(State& at, const std::string& name, const Box& mine) {
  const auto known = at.boxes.find(name);
  if (known != at.boxes.end()) return known->second;
  Triple first, end;
  for (int i = 0; i < 3; ++i) end[i] = mine.first[i] + mine.count[i];
  MPI_Allreduce(mine.first.data(), first.data(), 3, MPI_UNSIGNED_LONG_LONG, MPI_MIN, at.members);
  MPI_Allreduce(MPI_IN_PLACE, end.data(), 3, MPI_UNSIGNED_LONG_LONG, MPI_MAX, at.members);
  return at.boxes[name] = {first, {end[0] - first[0], end[1] - first[1], end[2] - first[2]}};
}

hid_t make_dataset(const State& at, const std::string& name, const Box& whole) {
  const hid_t space = H5Screate_simple(3, whole.count.data(), nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
  if (at.way == "file-per-process-deflate") {
    need(H5Pset_chunk(creation, 3, whole.count.data()), "cut chunks");
    need(H5Pset_shuffle(creation), "shuffle");
    need(H5Pset_deflate(creation, 1), "deflate");
  }
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t dataset =
      need(H5Dcreate2(at.file, name.c_str(), H5T_IEEE_F32LE, space, links, creation, H5P_DEFAULT), "make " + name);
  const hsize_t length = 3;
  const hid_t list = H5Screate_simple(1, &length, nullptr);
  const hid_t position = need(H5Acreate2(dataset, "position", H5T_STD_I64LE, list, H5P_DEFAULT, H5P_DEFAULT), "make an attribute");
  need(H5Awrite(position, H5T_NATIVE_ULLONG, whole.first.data()), "write an attribute");
  H5Aclose(position);
  for (const hid_t used : {space, list}) H5Sclose(used);
  for (const hid_t used : {creation, links}) H5Pclose(used);
  return dataset;
}

void write_part(const State& at, hid_t dataset, const Box& whole, const Box& part, const float* values) {
  const Triple start = {part.first[0] - whole.first[0], part.first[1] - whole.first[1], part.first[2] - whole.first[2]};
  const hid_t in_file = H5Dget_space(dataset), in_memory = H5Screate_simple(3, part.count.data(), nullptr);
  need(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, part.count.data(), nullptr), "choose a part");
  need(H5Dwrite(dataset, H5T_NATIVE_FLOAT, in_memory, in_file, at.transfer, values), "write");
  H5Sclose(in_memory);
  H5Sclose(in_file);
}

// The first member gets the blocks of all, and writes them one after the other.
void write_gathered(State& at, const std::string& name, const Box& whole, const Box& mine) {
  int members = 0;
  MPI_Comm_size(at.members, &members);
  std::vector<Box> boxes(static_cast<std::size_t>(members));
  MPI_Gather(&mine, 6, MPI_UNSIGNED_LONG_LONG, boxes.data(), 6, MPI_UNSIGNED_LONG_LONG, 0, at.members);
  std::vector<int> counts, places = {0};
  for (const Box& box : boxes)
    counts.push_back(static_cast<int>(product(box.count))), places.push_back(places.back() + counts.back());
  at.gathered.resize(at.member == 0 ? static_cast<std::size_t>(places.back()) : 0);
  MPI_Gatherv(at.packed.data(), static_cast<int>(at.packed.size()), MPI_FLOAT, at.gathered.data(), counts.data(), places.data(),
              MPI_FLOAT, 0, at.members);
  if (at.member != 0) return;
  const hid_t dataset = make_dataset(at, name, whole);
  for (std::size_t i = 0; i < boxes.size(); ++i) write_part(at, dataset, whole, boxes[i], at.gathered.data() + places[i]);
  need(H5Dclose(dataset), "close " + name);
}

}  // namespace
}  // namespace damaris::bench

using namespace damaris::bench;

void cm1_output_begin(int comm, int output) {
  State& at = state();
  if (at.members == MPI_COMM_NULL) {
    join_group(at, MPI_Comm_f2c(comm));
    if (at.way == "grouped")
      need(H5Pset_dxpl_mpio(at.transfer = H5Pcreate(H5P_DATASET_XFER), H5FD_MPIO_COLLECTIVE), "write together");
  }
  if (!at.writes()) return;
  std::array<char, 64> name = {};
  std::snprintf(name.data(), name.size(), "cm1out_%06d_%04d.h5", output, at.group);
  const hid_t access = file_access(at);
  at.file = need(H5Fcreate(name.data(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "create a file");
  H5Pclose(access);
}

void cm1_output_put(const char* name, const float* values, const std::int64_t* strides, const std::int64_t* extent,
                    const std::int64_t* position, const std::int64_t* /*global*/) {
  State& at = state();
  const Box mine{in_c_order(position), in_c_order(extent)};
  std::vector<float>& packed = at.way == "copy" ? at.copies[name] : at.packed;
  packed.resize(product(mine.count));
  pack(values, strides, mine.count, packed.data());
  if (at.way == "copy") return;
  const Box& whole = box_around(at, name, mine);
  if (at.way == "one-writer") return write_gathered(at, name, whole, mine);
  const hid_t dataset = make_dataset(at, name, whole);
  write_part(at, dataset, whole, mine, packed.data());
  need(H5Dclose(dataset), std::string("close ") + name);
}

void cm1_output_end() {
  if (state().writes()) need(H5Fclose(state().file), "close a file");
}

void cm1_output_close() {}
