#include "verbs.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "codec/rounding.hpp"
#include "codec/shuffle.hpp"
#include "core/base/format.hpp"
#include "folder.hpp"
#include "progress.hpp"
#include "reduce/chunk_file.hpp"
#include "reduce/fields.hpp"
#include "stopwatch.hpp"

namespace damaris::bench {
namespace {

constexpr double kMega = 1e6;
constexpr const char* kLibdeflate = "shuffle + libdeflate 1";

enum class By { kHdf5, kEncoder, kHdf5Converts };

// What the byte planes' own deflate must beat: level 1 of libdeflate after the same shuffle.
class LibdeflateOne : public codec::Encoder {
 public:
  codec::Encoded encode(const codec::Chunk& chunk) override {
    const std::size_t bytes = chunk.bytes(), bound = libdeflate_zlib_compress_bound(compressor_.get(), bytes);
    unsigned char* shuffled = shuffled_.at_least(bytes + 1);
    unsigned char* stream = stream_.at_least(bound);
    codec::shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled),
                   codec::best_simd());
    const std::size_t size = libdeflate_zlib_compress(compressor_.get(), shuffled, bytes, stream, bound);
    return {stream, size, size != 0 && size < bytes};
  }

 private:
  std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor_{libdeflate_alloc_compressor(1),
                                                                                            libdeflate_free_compressor};
  codec::ScratchMemory shuffled_, stream_;
};

// HDF5's own filters, our encoder with at most these vector instructions, libdeflate, for 16 bits also HDF5's own conversion and filters.
struct Way {
  std::string name;
  By by;
  std::unique_ptr<codec::Encoder> encoder = nullptr;
  std::vector<double> cpu_ns = {}, speed = {};
  std::uint64_t stored = 0;
};

struct Case {
  std::string name, place;  // the name of its row, and a short one for the rows beside it
  std::vector<Field> fields;
  bool half = false;
  double good, aim;
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Field& field : fields) sum += field.values.size() * sizeof(float);
    return sum;
  }
};

// The first is what the others are compared with, the second our best.
std::vector<Way> ways(bool half) {
  using codec::Simd;
  std::vector<Way> result;
  result.push_back({"HDF5 shuffle+deflate 1", By::kHdf5});
  for (const Simd simd : {Simd::kAvx512, Simd::kAvx2, Simd::kPortable})
    if (codec::at_most(simd) == simd)
      result.push_back(
          {format("planes, {}", codec::name_of(simd)), By::kEncoder, codec::Encoder::make({codec::Codec::kDeflate, 1, simd})});
  result.push_back({kLibdeflate, By::kEncoder, std::make_unique<LibdeflateOne>()});
  if (half) result.push_back({"HDF5 converts and filters", By::kHdf5Converts});
  return result;
}

// Room for one field as halves, and as the floats they are made of.
struct Buffers {
  std::vector<codec::Half> halves;
  std::vector<float> scaled;
};

// One field in one way. Scaling belongs to the time: each way has it.
std::uint64_t write_half(const Field& field, Tiles tiles, ChunkFile& file, const Way& way, Buffers& buffers, bool compare) {
  const auto scaling = codec::scaling_for(codec::range_of(field.values.data(), field.values.size()));
  tiles.data = buffers.halves.data();
  tiles.size = sizeof(codec::Half);
  if (way.by == By::kHdf5Converts) {
    const auto offset = static_cast<float>(scaling.offset), inverse = static_cast<float>(1 / scaling.scale);
    for (std::size_t i = 0; i < field.values.size(); ++i) buffers.scaled[i] = (field.values[i] - offset) * inverse;
    return file.write_converted(tiles, buffers.scaled.data());
  }
  codec::quantize(field.values.data(), field.values.size(), scaling, buffers.halves.data());
  const std::uint64_t stored = way.by == By::kEncoder ? file.write_encoded(tiles, *way.encoder) : file.write_filtered(tiles);
  if (compare) file.compare(tiles);
  return stored;
}

std::uint64_t write_all(const Case& what, ChunkFile& file, const Way& way, Buffers& buffers, bool compare) {
  std::uint64_t stored = 0;
  for (const Field& field : what.fields) {
    const Tiles tiles{
        field.name, field.values.data(), field.tiles, {field.shape[0], field.shape[1], field.shape[2]}, sizeof(float)};
    if (what.half) {
      stored += write_half(field, tiles, file, way, buffers, compare);
      continue;
    }
    stored += way.by == By::kEncoder ? file.write_encoded(tiles, *way.encoder) : file.write_filtered(tiles);
    if (compare) file.compare(tiles);
  }
  return stored;
}

void one_round(const Case& what, const std::string& path, std::vector<Way>& ways, std::mt19937& random, bool compare) {
  std::size_t most = 0;
  for (const Field& field : what.fields) most = std::max(most, field.values.size());
  if (!what.half) most = 0;
  Buffers buffers{std::vector<codec::Half>(most), std::vector<float>(most)};
  std::vector<std::size_t> order(ways.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t k : order) {
    const double begin = thread_cpu_ns();
    {
      ChunkFile file(path);
      ways[k].stored = write_all(what, file, ways[k], buffers, compare);
    }
    if (!compare) ways[k].cpu_ns.push_back(thread_cpu_ns() - begin);
    std::remove(path.c_str());
  }
  for (Way& way : ways)
    if (!compare) way.speed.push_back(ways[0].cpu_ns.back() / way.cpu_ns.back());
}

// How many times as long theirs takes, round by round.
Estimate speed_over(const Way& theirs, const Way& ours) {
  std::vector<double> faster;
  for (std::size_t i = 0; i < ours.cpu_ns.size(); ++i) faster.push_back(theirs.cpu_ns[i] / ours.cpu_ns[i]);
  return estimate(faster);
}

Estimate size_over(const Way& theirs, const Way& ours) {
  const double sizes = static_cast<double>(theirs.stored) / static_cast<double>(ours.stored);
  return {sizes, sizes, sizes, sizes};
}

void tell(const Case& what, std::vector<Way>& ways, Report& report) {
  std::printf("\n%s: %.1f MB, chunks of %.0f KB\n%-26s %12s %8s %8s\n", what.name.c_str(), what.bytes() / kMega,
              what.fields[0].tile_values() * (what.half ? 2 : 4) / 1e3, "", "MB/s of CPU", "speed", "ratio");
  for (const Way& way : ways) {
    const double rate = what.bytes() / median(way.cpu_ns) * 1e9 / kMega, ratio = static_cast<double>(what.bytes()) / way.stored;
    std::printf("%-26s %12.0f %7.1fx %8.3f\n", way.name.c_str(), rate, median(way.speed), ratio);
    report.details.push_back(
        {{"case", what.name}, {"way", way.name}, {"mb_per_cpu_s", rate}, {"speed", median(way.speed)}, {"ratio", ratio}});
  }
  report.rows.push_back({what.name, estimate(ways[1].speed), false, what.good, what.aim});
  if (ways[2].name == "planes, avx2")
    report.rows.push_back({what.place + ", no AVX-512", estimate(ways[2].speed), false, what.good, what.aim});
  if (what.half)
    report.rows.push_back({what.place + ", HDF5 converts too", speed_over(ways.back(), ways[1]), false, what.good, what.aim});
  report.rows.push_back({"ratio to HDF5's, " + what.place, size_over(ways[0], ways[1]), false, 0.98, 1});
  const auto libdeflate = std::find_if(ways.begin(), ways.end(), [](const Way& way) { return way.name == kLibdeflate; });
  report.rows.push_back({format("{} / ours, {}", kLibdeflate, what.place), speed_over(*libdeflate, ways[1]), false, 2, 3});
  report.rows.push_back(
      {format("size of {} / ours, {}", kLibdeflate, what.place), size_over(*libdeflate, ways[1]), false, 0.98, 1});
}

void measure(const Case& what, bool quick, const Folder& folder, Report& report) {
  std::vector<Way> all = ways(what.half);
  const std::string path = (folder.path() / "reduce.h5").string();
  std::mt19937 random(5);
  one_round(what, path, all, random, true);
  {
    Progress progress(what.name);
    const int rounds = quick ? 2 : 15;
    for (int round = 0; round < rounds; ++round) {
      progress.show(round, rounds);
      one_round(what, path, all, random, false);
    }
  }
  tell(what, all, report);
}

std::string slice_beside_program() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "share/damaris/cm1_slice.h5").string();
}

}  // namespace

Report run_reduce(bool quick, const std::string& parent, const std::string& fields) {
  const Folder folder(parent);
  Report report;
  for (const FieldSet& set : read_fields(fields.empty() ? slice_beside_program() : fields)) {
    const std::string fields_of = format("{} CM1 fields", set.fields.size()), time = ", " + set.name;
    measure({"deflate " + fields_of + ", a tile a chunk" + time, fields_of + time, set.fields, false, 8, 15}, quick, folder,
            report);
    measure({"16 bits, " + fields_of + time, "16 bits" + time, set.fields, true, 6, 10}, quick, folder, report);
    if (quick) continue;
    for (const Field& field : set.fields) {
      Report apart;  // tables and details, no rows
      measure({set.name + " " + field.name, "", {field}, false, 8, 15}, quick, folder, apart);
      for (const auto& detail : apart.details) report.details.push_back(detail);
    }
  }
  measure({"turbulence fields", "turbulence fields", turbulence().fields, false, 12, 20}, quick, folder, report);
  return report;
}

}  // namespace damaris::bench
