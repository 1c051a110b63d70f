#include "reduce/reduce_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <random>

#include "core/base/format.hpp"
#include "folder.hpp"
#include "plugins/reduce/half.hpp"
#include "progress.hpp"
#include "reduce/chunk_file.hpp"
#include "reduce/fields.hpp"
#include "stopwatch.hpp"

namespace damaris::bench {
namespace {

constexpr double kMega = 1e6;

// HDF5's own filters, or our encoder with at most these vector instructions.
struct Way {
  std::string name;
  std::unique_ptr<reduce::Encoder> encoder;  // null: HDF5's own
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

std::vector<Way> ways() {
  using reduce::Simd;
  std::vector<Way> result;
  result.push_back({"HDF5 shuffle+deflate 1", nullptr});
  for (const Simd simd : {Simd::kAvx512, Simd::kAvx2, Simd::kPortable})
    if (reduce::at_most(simd) == simd)
      result.push_back({format("planes, {}", reduce::name_of(simd)), reduce::Encoder::make({reduce::Codec::kDeflate, 1, simd})});
  return result;
}

// The whole case once in one way. With 16 bits all ways pack in the same manner, inside the time.
std::uint64_t write_all(const Case& what, ChunkFile& file, reduce::Encoder* encoder, std::vector<reduce::Half>& halves,
                        bool compare) {
  std::uint64_t stored = 0;
  for (const Field& field : what.fields) {
    Tiles tiles{field.name, field.values.data(), field.tiles, {field.shape[0], field.shape[1], field.shape[2]}, sizeof(float)};
    if (what.half) {
      const auto packing = reduce::packing_for(reduce::range_of(field.values.data(), field.values.size()));
      reduce::pack(field.values.data(), field.values.size(), packing, halves.data());
      tiles.data = halves.data();
      tiles.size = sizeof(reduce::Half);
    }
    stored += encoder != nullptr ? file.write_encoded(tiles, *encoder) : file.write_filtered(tiles);
    if (compare) file.compare(tiles);
  }
  return stored;
}

void one_round(const Case& what, const std::string& path, std::vector<Way>& ways, std::mt19937& random, bool compare) {
  std::size_t most = 0;
  for (const Field& field : what.fields) most = std::max(most, field.values.size());
  std::vector<reduce::Half> halves(what.half ? most : 0);
  std::vector<std::size_t> order(ways.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t k : order) {
    const double begin = thread_cpu_ns();
    {
      ChunkFile file(path);
      ways[k].stored = write_all(what, file, ways[k].encoder.get(), halves, compare);
    }
    if (!compare) ways[k].cpu_ns.push_back(thread_cpu_ns() - begin);
    std::remove(path.c_str());
  }
  for (Way& way : ways)
    if (!compare) way.speed.push_back(ways[0].cpu_ns.back() / way.cpu_ns.back());
}

void tell(const Case& what, std::vector<Way>& ways, Report& report) {
  std::printf("\n%s: %.1f MB, chunks of %.0f KB\n%-26s %12s %8s %8s\n", what.name.c_str(), what.bytes() / kMega,
              what.fields[0].tile_values() * (what.half ? 2 : 4) / 1e3, "", "MB/s of CPU", "speed", "ratio");
  for (const Way& way : ways) {
    const double rate = what.bytes() / median(way.cpu_ns) * 1e9 / kMega, ratio = static_cast<double>(what.bytes()) / way.stored;
    std::printf("%-26s %12.0f %7.1fx %8.3f\n", way.name.c_str(), rate, median(way.speed), ratio);
    report.details.push_back(
        {{"case", what.name}, {"way", way.name}, {"mb_per_cpu_s", rate}, {"speed", median(way.speed)}, {"ratio", ratio}});
    if (&way == &ways[1])
      report.rows.push_back({what.name, estimate(way.speed), false, what.good, what.aim});
    else if (&way == &ways[2] && way.name == "planes, avx2")
      report.rows.push_back({what.place + ", no AVX-512", estimate(way.speed), false, what.good, what.aim});
  }
  const double sizes = static_cast<double>(ways[0].stored) / ways[1].stored;
  report.rows.push_back({"ratio to HDF5's, " + what.place, {sizes, sizes, sizes, sizes}, false, 0.98, 1});
}

void measure(const Case& what, bool quick, const Folder& folder, Report& report) {
  std::vector<Way> all = ways();
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

}  // namespace

Report run_reduce(bool quick, const std::string& parent, const std::string& fields) {
  const Folder folder(parent);
  Report report;
  for (const FieldSet& set : read_fields(fields)) {
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
