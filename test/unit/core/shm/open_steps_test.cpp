#include "core/shm/open_steps.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <map>
#include <memory>
#include <random>

namespace damaris::shm {
namespace {

class Heard {
 public:
  Heard() {
    header_->last_processed.store(kNoStep);
    header_->releasing.store(kNoStep);
    clear_open_steps(*header_);
  }
  RegionHeader& header() { return *header_; }
  void settle(std::int64_t step) { header_->last_processed.store(step); }
  std::int64_t settled() const { return header_->last_processed.load(); }

  // Whether a recovery takes the step for one that may lack writes; its time if that is known; whether a lost time is said.
  struct Known {
    bool may_lack_writes = false, may_have_had_time = false;
    std::optional<double> time;
  };
  Known known_of(std::int64_t step) const {
    const OverflowSteps crowded = overflow_steps(*header_, settled());
    const bool inside = step >= crowded.first && step <= crowded.last;
    Known known = {inside && crowded.may_lack_writes, inside && crowded.may_have_times, {}};
    for (const KnownStep& heard : known_open_steps(*header_, settled()))
      if (heard.step == step) known = {known.may_lack_writes || heard.lacks_writes, known.may_have_had_time, heard.time};
    return known;
  }
  std::size_t crowded() const {
    const OverflowSteps crowded = overflow_steps(*header_, settled());
    return crowded.last < crowded.first ? 0 : static_cast<std::size_t>(crowded.last - crowded.first + 1);
  }

 private:
  std::unique_ptr<RegionHeader> header_ = std::make_unique<RegionHeader>();
};

TEST_CASE("reports about as many open steps as there are entries are kept for each step, however far apart they are") {
  const std::int64_t stride = GENERATE(1, 2, 100, 256, 4096);
  Heard heard;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(kOpenSteps); ++k)
    k % 2 == 0 ? record_omission(heard.header(), k * stride) : record_time(heard.header(), k * stride, static_cast<double>(k));
  CHECK(heard.crowded() == 0);
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(kOpenSteps); ++k) {
    const Heard::Known known = heard.known_of(k * stride);
    INFO(k);
    CHECK(known.may_lack_writes == (k % 2 == 0));
    CHECK(known.time.has_value() == (k % 2 == 1));
    if (known.time) CHECK(*known.time == static_cast<double>(k));
  }
}

TEST_CASE("a step that is settled makes room for another one, whatever other steps are open") {
  Heard heard;
  record_omission(heard.header(), 3);
  for (std::int64_t step = 4; step < 5000; ++step) {
    heard.settle(2);
    record_time(heard.header(), step, 1.0);
    if (step > 100) break;
  }
  heard.settle(100);
  for (std::int64_t step = 102; step < 102 + 200; ++step) record_omission(heard.header(), step);
  CHECK(heard.crowded() == 0);
}

// The one promise: no step that is open is taken for whole when it is not, and no time is lost without a word.
TEST_CASE("whatever the order of reports, no open step that lacks writes counts as whole and no time is lost") {
  const unsigned seed = GENERATE(range(0U, 40U));
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
  const std::int64_t stride = std::int64_t{1} << below(10);
  Heard heard;
  struct Truth {
    bool lacks_writes = false;
    std::optional<double> time;
  };
  std::map<std::int64_t, Truth> truth;
  std::int64_t low = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const std::int64_t step = (low + below(600)) * stride + below(2);
    if (step > heard.settled()) {
      if (below(2) == 0) {
        record_omission(heard.header(), step);
        truth[step].lacks_writes = true;
      } else {
        record_time(heard.header(), step, turn);
        truth[step].time = turn;
      }
    }
    if (below(5) == 0) heard.settle(std::max(heard.settled(), (low += below(4)) * stride));
    truth.erase(truth.begin(), truth.upper_bound(heard.settled()));
  }
  REQUIRE(truth.size() > 10);
  for (const auto& [step, true_of] : truth) {
    const Heard::Known known = heard.known_of(step);
    INFO("seed " << seed << " step " << step);
    CHECK((known.may_lack_writes || !true_of.lacks_writes));
    if (true_of.time) CHECK((known.time ? *known.time == *true_of.time : known.may_have_had_time));
  }
}

TEST_CASE("a range of crowded steps lasts until its last step is settled") {
  Heard heard;
  for (std::int64_t step = 0; step < 600; ++step) record_omission(heard.header(), step);
  heard.settle(300);
  for (std::int64_t step = 600; step < 1200; ++step) record_omission(heard.header(), step);
  for (std::int64_t step = 301; step < 1200; ++step) {
    INFO(step);
    CHECK(heard.known_of(step).may_lack_writes);
  }
  heard.settle(1200);
  CHECK(heard.crowded() == 0);
  CHECK_FALSE(lacks_writes(heard.header()));
}

TEST_CASE("a dead region lacks writes only of steps that were not settled") {
  Heard heard;
  record_time(heard.header(), 7, 1.0);
  CHECK_FALSE(lacks_writes(heard.header()));
  record_omission(heard.header(), 8);
  CHECK(lacks_writes(heard.header()));
  heard.settle(8);
  CHECK_FALSE(lacks_writes(heard.header()));
}

TEST_CASE("impossible numbers in what a dead server left are bounded") {
  Heard heard;
  heard.header().open_steps[0].step.store(std::numeric_limits<std::int64_t>::max());
  heard.header().open_steps[1].step.store(std::numeric_limits<std::int64_t>::min());
  heard.header().overflow_first.store(std::numeric_limits<std::int64_t>::min());
  heard.header().overflow_last.store(std::numeric_limits<std::int64_t>::max());
  CHECK(known_open_steps(heard.header(), kNoStep).empty());
  const OverflowSteps crowded = overflow_steps(heard.header(), kNoStep);
  CHECK(crowded.first == 0);
  CHECK(crowded.last == kHighestStep);
  CHECK(overflow_steps(heard.header(), kHighestStep).first > kHighestStep);
}

}  // namespace
}  // namespace damaris::shm
