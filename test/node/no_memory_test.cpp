// The ledger while memory is short: an operation that fails has had no effect, and its whole effect when it is repeated.
#include "core/base/format.hpp"
#include "node.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "support/failing_new.hpp"

namespace damaris::test {
namespace {

using server::HeldBlock;
using server::Ledger;

// A ledger over an empty region, of which one operation fails at an allocation.
class ShortLedger {
 public:
  ShortLedger(int operation, long after)
      : operation_(operation),
        after_(after),
        model_(std::make_shared<model::Model>(node_model())),
        infos_(*model_),
        region_(server::make_region(*model_, "<simulation/>", 2, {"", "host", 0, false})),
        ledger_(*region_, 0) {}

  template <class Operation>
  void operator()(Operation&& operation) {
    try {
      const FailsAfter fails(next_++ == operation_ ? after_ : -1);
      operation();
    } catch (const std::bad_alloc&) {
      was_short = true;
      operation();
    }
  }
  dc_dataset_t dataset(std::int64_t step, std::int32_t source, std::int32_t block) const {
    dc_dataset_t made = {};
    made.variable = &infos_.all()[0];
    made.step = step;
    made.source = source;
    made.block = block;
    return made;
  }
  void add(std::int64_t step, std::int32_t source, std::int32_t block) {
    std::string why;
    const HeldBlock place = next_place(source);
    (*this)([&] { why = ledger_.add(dataset(step, source, block), place); });
    if (!why.empty()) (*this)([&] { ledger_.hold_refused(step, place); });
    said_ += why + "\n";
  }
  void refuse(std::int64_t step, const std::string& why) {
    (*this)([&] { ledger_.open(step).record_loss(why); });
  }
  // Everything observable of it.
  std::string text() {
    std::string text = said_;
    for (std::int64_t step = 0; step < 2; ++step) {
      dc_step_t view = {};
      (*this)([&] { view = ledger_.open(step).view(2); });
      text += format("step {}: refused {}, sources {} {}:", step, view.refused_count, ledger_.open(step).has_source(0),
                     ledger_.open(step).has_source(1));
      for (std::size_t i = 0; i < view.dataset_count; ++i)
        text += format(" {}.{} at {}", view.datasets[i].source, view.datasets[i].block, ledger_.open(step).block(i).offset);
      text += format("; {} refused blocks\n", ledger_.open(step).refused_blocks().size());
    }
    for (std::uint32_t arena = 0; arena < 2; ++arena) {
      text += format("arena {}: {} bytes at", arena, ledger_.held_bytes(arena));
      for (std::uint64_t offset = 0; offset < 2048; offset += 64)
        if (ledger_.is_held({arena, offset, 64})) text += format(" {}", offset);
      text += "\n";
    }
    return text;
  }
  int operations() const { return next_; }
  bool was_short = false;

 private:
  HeldBlock next_place(std::int32_t source) { return {static_cast<std::uint32_t>(source), 64 * offset_++, 64}; }

  int operation_, next_ = 0;
  long after_;
  std::uint64_t offset_ = 0;
  std::shared_ptr<const model::Model> model_;
  server::VariableInfos infos_;
  std::shared_ptr<shm::Region> region_;
  Ledger ledger_;
  std::string said_;
};

std::string text_of(ShortLedger& ledger) {
  for (std::int32_t block : {3, 1, 2}) ledger.add(0, 0, block);
  ledger.add(0, 1, 5);
  ledger.add(0, 0, 1);  // came before
  ledger.refuse(0, "a sentence that is too long to lie in a string of the library itself");
  for (std::int32_t block = 10; block > 0; --block) ledger.add(1, 1, block);
  return ledger.text();
}

}  // namespace

TEST_CASE("whichever allocation of the ledger fails, its operation has no effect then, and its whole effect when it is repeated") {
  ShortLedger whole(-1, 0);
  const std::string expected = text_of(whole);
  CHECK_THAT(expected, Catch::Contains("came twice in step 0; the first one counts") && Catch::Contains("1 refused blocks") &&
                           Catch::Contains("step 0: refused 1, sources true true: 0.1 at 64 0.2 at 128 0.3 at 0 1.5 at 192"));
  for (int operation = 0; operation < whole.operations(); ++operation) {
    bool was_short = true;
    for (long after = 0; was_short; ++after) {
      INFO("operation " << operation << ", the allocation after " << after << " others");
      ShortLedger ledger(operation, after);
      CHECK(text_of(ledger) == expected);
      was_short = ledger.was_short;
    }
  }
}

}  // namespace damaris::test
