// Chunks as Damaris compresses them are read, in parts too; what somebody made to take more memory than its values is refused.
#include "plugins/hdf5/restart/stored_values.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include "codec/checksum.hpp"
#include "codec/encoder.hpp"
#include "plugins/hdf5/file/new_dataset.hpp"
#include "unit/plugins/hdf5/earlier_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;
using hdf5::checked;

constexpr std::size_t kSize = 24;  // numbers, 6 x 4

using Sizes2 = std::array<hsize_t, 2>;

// fields/theta of 6 x 4 floats, with `filters`, and one chunk of these bytes, which skips what `skipped` names.
struct Odd {
  std::function<void(hid_t made)> filters;
  std::vector<unsigned char> chunk;
  std::uint32_t skipped = 0;
  Sizes2 chunk_extents = {6, 4};
};

void make(const std::string& path, const Odd& odd) {
  const hdf5::File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create", path);
  const hdf5::Properties links = hdf5::link_properties(), made(H5Pcreate(H5P_DATASET_CREATE), "make properties");
  const Sizes2 extents = {6, 4}, most = {H5S_UNLIMITED, H5S_UNLIMITED}, origin = {};
  const hdf5::Space space(H5Screate_simple(2, extents.data(), most.data()), "make a space");
  checked(H5Pset_chunk(made.id(), 2, odd.chunk_extents.data()), "set the chunk");
  if (odd.filters) odd.filters(made.id());
  const hdf5::Dataset values(H5Dcreate2(file.id(), "fields/theta", H5T_IEEE_F32LE, space.id(), links.id(), made.id(), H5P_DEFAULT),
                             "create");
  checked(H5Dwrite_chunk(values.id(), H5P_DEFAULT, odd.skipped, origin.data(), odd.chunk.size(), odd.chunk.data()), "write");
}

// `bytes` zeros, compressed.
std::vector<unsigned char> zeros(codec::Codec codec, std::size_t bytes) {
  const std::vector<std::byte> values(bytes);
  const auto encoder = codec::Encoder::make({codec, 3});
  const codec::Encoded encoded = encoder->encode({values.data(), bytes / 4, 4, bytes / 4});
  const auto* const begin = static_cast<const unsigned char*>(encoded.data);
  return {begin, begin + encoded.bytes};
}

void deflate(hid_t made) { H5Pset_deflate(made, 1); }
void zstd(hid_t made) { H5Pset_filter(made, codec::kZstdFilter, H5Z_FLAG_OPTIONAL, 0, nullptr); }

std::uint32_t checksum_in(const std::string& path) {
  const hdf5::QuietErrors quiet;
  const hdf5::File file = hdf5::open_stored(path);
  return hdf5::checksum_of_values(hdf5::open_dataset(file, "fields/theta"), "fields/theta");
}

}  // namespace

TEST_CASE("filters that Damaris does not write are refused") {
  const TempFolder folder;
  Odd odd = {nullptr, zeros(codec::Codec::kDeflate, kSize * sizeof(float))};
  const std::string kind = GENERATE("two deflates", "deflate and zstd", "shuffle last", "shuffle twice", "fletcher32", "nbit",
                                    "scaleoffset", "one that nobody knows");
  odd.filters = [&](hid_t made) {
    if (kind == "two deflates" || kind == "deflate and zstd" || kind == "shuffle last") deflate(made);
    if (kind == "two deflates") deflate(made);
    if (kind == "deflate and zstd") zstd(made);
    if (kind == "shuffle last" || kind == "shuffle twice") H5Pset_shuffle(made);
    if (kind == "shuffle twice") H5Pset_shuffle(made);
    if (kind == "fletcher32") H5Pset_fletcher32(made);
    if (kind == "nbit") H5Pset_nbit(made);
    if (kind == "scaleoffset") H5Pset_scaleoffset(made, H5Z_SO_FLOAT_DSCALE, 2);
    if (kind == "one that nobody knows") H5Pset_filter(made, 32768 + 77, H5Z_FLAG_OPTIONAL, 0, nullptr);
  };
  INFO(kind);
  make(folder.file("odd.h5"), odd);
  CHECK_THROWS_WITH(checksum_in(folder.file("odd.h5")), Contains("fields/theta has filters that Damaris does not write"));
}

TEST_CASE("chunks that are larger than their dataset are refused") {
  const TempFolder folder;
  make(folder.file("odd.h5"), {deflate, zeros(codec::Codec::kDeflate, 96 << 20), 0, {6, 4 << 20}});
  CHECK_THROWS_WITH(checksum_in(folder.file("odd.h5")), Contains("fields/theta has chunks larger than itself"));
}

TEST_CASE("a chunk decompresses to the size of its values, or not at all") {
  const TempFolder folder;
  const std::string path = folder.file("odd.h5");
  const codec::Codec codec = GENERATE(codec::Codec::kDeflate, codec::Codec::kZstd);
  const auto filter = codec == codec::Codec::kDeflate ? deflate : zstd;
  const std::vector<float> values(kSize);
  make(path, {filter, zeros(codec, kSize * sizeof(float))});
  CHECK(checksum_in(path) == codec::crc32(values.data(), kSize * sizeof(float)));
  for (const std::size_t bytes : {std::size_t{64} << 10, (kSize + 1) * sizeof(float), (kSize - 1) * sizeof(float)}) {
    make(path, {filter, zeros(codec, bytes)});
    CHECK_THROWS_WITH(checksum_in(path), Contains("fields/theta is damaged: it does not decompress to the 96 bytes of its values"));
  }
  make(path, {filter, std::vector<unsigned char>(1000)});
  CHECK_THROWS_WITH(checksum_in(path), Contains("fields/theta has more bytes in the file than its values"));
}

TEST_CASE("a chunk for which the filters were skipped has the bytes of its values") {
  const TempFolder folder;
  const std::string path = folder.file("odd.h5");
  const std::vector<unsigned char> sevens(kSize * sizeof(float), 7);
  make(path, {deflate, sevens, 1});
  CHECK(checksum_in(path) == codec::crc32(sevens.data(), sevens.size()));
  make(path, {deflate, {7, 7, 7}, 1});
  CHECK_THROWS_WITH(checksum_in(path), Contains("fields/theta does not have as many bytes as its values"));
}

TEST_CASE("a restart names the file and the dataset that would take more memory than its values, and does not read it") {
  const TempFolder folder;
  const auto [odd, why] = GENERATE(std::pair{Odd{[](hid_t made) { deflate(made), deflate(made); }, {1, 2, 3}},
                                             "fields/theta has filters that Damaris does not write"},
                                   std::pair{Odd{deflate, zeros(codec::Codec::kDeflate, 64 << 10)},
                                             "fields/theta is damaged: it does not decompress to the 96 bytes"});
  make(folder.file("odd.h5"), odd);
  const HandRecord record(folder.path());
  record.add(record.step(4, folder.file("odd.h5"), {joined_dataset("fields/theta", {0, 0}, {6, 4})}));
  const std::vector<dc_variable_info_t> variables = {theta()};
  Later later(record, variables);
  Question<float> question(variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("odd.h5: ") && Contains(why));
}

TEST_CASE("a part of compressed chunks is read back, across their borders and with its type") {
  const auto codec = GENERATE(DC_CODEC_DEFLATE, DC_CODEC_ZSTD);
  const bool half = GENERATE(false, true);
  std::vector<dc_variable_info_t> variables = {theta()};
  dc_variable_info_t& variable = variables[0];
  variable.reduction.codec = codec;
  variable.reduction.level = 1;
  if (half) variable.reduction.precision = DC_FLOAT16;
  variable.reduction.has_packing = half ? 1 : 0;
  variable.reduction.scale = variable.reduction.offset = half ? 2 : 0;
  variable.reduce = half ? "float16" : "compressed";
  variable.chunk[0] = 16;
  variable.chunk[1] = 64;
  Fixture fixture(variables);
  Blocks blocks(4);
  std::vector<float> values(100 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 50 * 2);
  place(blocks.add(variable, 0, {100, 200}, values), {1000, 0});
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  manifest::DatasetEntry dataset = joined_dataset("fields/theta", {1000, 0}, {100, 200});
  if (half) dataset.scale = dataset.offset = 2;
  record.add(record.step(4, fixture.path(4), {dataset}));
  Later later(record, variables);
  Question<float> question(variable, 4, {40, 90});
  later.reads(question.at({1060, 110}));
  std::vector<float> expected;
  for (std::size_t y = 60; y < 100; ++y)
    for (std::size_t x = 110; x < 200; ++x) expected.push_back(values[y * 200 + x]);
  CHECK(question.values == expected);
}

}  // namespace damaris::test
