// Rule 11 in files: blocks with positions are joined.
#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "unit/plugins/hdf5/fixture.hpp"

using namespace damaris::test;

namespace {

using Place = std::vector<std::int64_t>;
using Reference = std::map<Place, int>;  // what each element of the global array must be

struct Part {
  Place low, high;
};

// Calls visit(place, index) for all elements, slowest dimension first.
template <class Visit>
void for_each_element(const Place& low, const Place& high, Visit&& visit) {
  Place at = low;
  for (std::size_t d = 0; d < low.size(); ++d)
    if (low[d] >= high[d]) return;
  for (std::size_t index = 0;; ++index) {
    visit(at, index);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

class Case {
 public:
  explicit Case(unsigned seed) : random_(seed), ndims_(pick(1, 3)) {}

  int ndims() const { return ndims_; }
  const Reference& reference() const { return reference_; }

  // Cuts an array into blocks, lets some of them overlap their neighbours or be missing, and hands them over in mixed order.
  void fill(Blocks& blocks, const dc_variable_info_t& variable) {
    Part whole;
    for (int d = 0; d < ndims_; ++d) {
      whole.low.push_back(pick(0, 3));
      whole.high.push_back(whole.low.back() + pick(1, 9));
    }
    cut(whole, 4);
    std::shuffle(parts_.begin(), parts_.end(), random_);
    const bool holes = pick(0, 2) == 0, overlaps = pick(0, 1) == 0;
    int source = 0;
    for (Part& part : parts_) {
      source += pick(0, 1);
      if (holes && parts_.size() > 1 && pick(0, 3) == 0) continue;
      if (overlaps) part.high[pick(0, ndims_ - 1)] += pick(0, 2);
      add(blocks, variable, part, source, next_block_++);
    }
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random_); }

  void cut(const Part& part, int depth) {
    const auto d = static_cast<std::size_t>(pick(0, ndims_ - 1));
    if (depth == 0 || part.high[d] - part.low[d] < 2) {
      parts_.push_back(part);
      return;
    }
    Part below = part, above = part;
    below.high[d] = above.low[d] = pick(part.low[d] + 1, part.high[d] - 1);
    cut(below, depth - 1);
    cut(above, depth - 1);
  }

  // Ghost zones hold -1, which must never reach the file.
  void add(Blocks& blocks, const dc_variable_info_t& variable, const Part& part, int source, int block) {
    Numbers extents, low, high;
    Part memory = part;
    for (std::size_t d = 0; d < part.low.size(); ++d) {
      low.push_back(pick(0, 2));
      high.push_back(pick(0, 2));
      memory.low[d] -= low[d];
      memory.high[d] += high[d];
      extents.push_back(memory.high[d] - memory.low[d]);
    }
    std::vector<int> values;
    for_each_element(memory.low, memory.high, [&](const Place& at, std::size_t) {
      bool inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) inside = inside && at[d] >= part.low[d] && at[d] < part.high[d];
      values.push_back(inside ? ++value_ : -1);
      if (inside) reference_.emplace(at, value_);  // keeps what is there: the lower source wins
    });
    dc_dataset_t& made = blocks.add(variable, source, extents, values, block);
    place(made, part.low);
    ghost(made, low, high);
  }

  std::mt19937 random_;
  int ndims_;
  int value_ = 0;
  int next_block_ = 0;
  std::vector<Part> parts_;
  Reference reference_;
};

// All elements of the datasets of "v" by their place; fails when one comes twice.
Reference read_all(const ReadFile& file) {
  Reference read;
  std::vector<std::string> paths;
  if (file.has("v/box0")) {
    for (int k = 0; file.has("v/box" + std::to_string(k)); ++k) paths.push_back("v/box" + std::to_string(k));
  } else if (file.has("v")) {
    paths.push_back("v");
  }
  for (const std::string& path : paths) {
    const Place low = file.attribute<std::int64_t>(path, "position");
    const std::vector<hsize_t> extents = file.extents(path);
    const std::vector<int> values = file.values<int>(path);
    Place high = low;
    for (std::size_t d = 0; d < low.size(); ++d) high[d] += static_cast<std::int64_t>(extents[d]);
    for_each_element(low, high, [&](const Place& at, std::size_t index) { CHECK(read.emplace(at, values[index]).second); });
  }
  return read;
}

bool is_box(const Reference& reference) {
  Place low = reference.begin()->first, high = low;
  for (const auto& [at, value] : reference)
    for (std::size_t d = 0; d < at.size(); ++d) {
      low[d] = std::min(low[d], at[d]);
      high[d] = std::max(high[d], at[d]);
    }
  std::size_t elements = 1;
  for (std::size_t d = 0; d < low.size(); ++d) elements *= static_cast<std::size_t>(high[d] - low[d] + 1);
  return elements == reference.size();
}

}  // namespace

TEST_CASE("rule 11: 150 random tilings with ghosts, overlaps and holes read back as the reference array") {
  int boxes = 0, several = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Case one(seed);
    auto variable = variable_info(0, "v", DC_INT32, one.ndims());
    if (seed % 3 == 2) variable.reduction.codec = DC_CODEC_DEFLATE, variable.reduction.level = static_cast<int>(1 + seed % 12);
    Blocks blocks(seed);
    one.fill(blocks, variable);
    if (one.reference().empty()) continue;
    Fixture run({variable}, {{"filters", seed % 2 == 0 ? "" : "shuffle,deflate:1"}, {"threads", seed % 4 == 0 ? "1" : "3"}});
    INFO("seed " << seed);
    const int code = run.plugin.on_step(blocks.view());  // partial where blocks share more than a face
    REQUIRE((code == DC_OK || run.host.failure.find(" both wrote the elements ") != std::string::npos));
    const ReadFile file(run.path(seed));
    REQUIRE(read_all(file) == one.reference());
    const bool whole = is_box(one.reference());
    REQUIRE(file.has("v/box0") == !whole);
    ++(whole ? boxes : several);
  }
  CHECK(boxes > 30);
  CHECK(several > 30);
}

TEST_CASE("rule 11: one block without a position keeps the whole variable apart, by source") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Fixture run({variable});
  Blocks blocks(0);
  place(blocks.add(variable, 0, {2}, std::vector<int>{1, 2}), {0});
  blocks.add(variable, 1, {2}, std::vector<int>{3, 4});
  const ReadFile file = run.stored(blocks);
  CHECK(file.values<int>("v/0") == std::vector<int>{1, 2});
  CHECK(file.values<int>("v/1") == std::vector<int>{3, 4});
  CHECK(file.attribute<std::int64_t>("v/0", "position") == std::vector<std::int64_t>{0});
  CHECK_FALSE(file.has_attribute("v/1", "position"));
}

TEST_CASE("rule 11: a join of nothing but empty blocks is an empty dataset") {
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  Fixture run({variable}, {{"filters", "deflate:1"}});
  Blocks blocks(0);
  place(blocks.add(variable, 0, {0, 5}, std::vector<int>{}), {3, 0});
  place(blocks.add(variable, 1, {0, 4}, std::vector<int>{}), {3, 5});
  const ReadFile file = run.stored(blocks);
  CHECK(file.extents("v") == std::vector<hsize_t>{0, 5});
  CHECK(file.attribute<std::int64_t>("v", "position") == std::vector<std::int64_t>{3, 0});
}

TEST_CASE("rule 11: tiles far larger than a brick are joined, with and without filters") {
  const auto variable = variable_info(0, "v", DC_INT32, 3);
  const std::int64_t nz = 5, ny = 700, nx = 600, cut = 250;
  for (const char* filters : {"", "shuffle,deflate:1"}) {
    Fixture run({variable}, {{"filters", filters}});
    Blocks blocks(0);
    const auto tile = [&](std::int32_t source, std::int64_t low, std::int64_t high) {
      std::vector<int> values;
      for (std::int64_t z = 0; z < nz; ++z)
        for (std::int64_t y = 0; y < ny; ++y)
          for (std::int64_t x = low; x < high; ++x) values.push_back(static_cast<int>((z * ny + y) * nx + x));
      place(blocks.add(variable, source, {nz, ny, high - low}, values), {0, 0, low});
    };
    tile(0, 0, cut);
    tile(1, cut, nx);
    const std::vector<int> read = run.stored(blocks).values<int>("v");
    REQUIRE(read.size() == static_cast<std::size_t>(nz * ny * nx));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < read.size(); ++i) wrong += read[i] != static_cast<int>(i);
    REQUIRE(wrong == 0);
  }
}
