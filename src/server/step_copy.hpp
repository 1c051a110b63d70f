// A step as an action sees it: its datasets so far, in lists of its own, because the ledger goes on adding to an open step.
// Used by: the intake side makes it, the work side reads it and frees it.
// Before it: Step::view(). After it: a plugin's callback. The data stay where they are: the ledger pins their blocks meanwhile.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

namespace damaris::server {

class StepCopy {
 public:
  StepCopy() = default;
  StepCopy(const dc_step_t& view, std::vector<dc_dataset_t> datasets)
      : view_(view),
        datasets_(std::move(datasets)),
        absent_(view.absent, view.absent + view.absent_count),
        missing_(view.missing, view.missing + view.missing_count),
        skipped_(view.skipped, view.skipped + view.skipped_count),
        refused_(view.refused, view.refused + view.refused_count) {}

  // Valid until the copy is moved or destroyed.
  const dc_step_t& view() {
    refused_texts_.clear();
    for (const std::string& sentence : refused_) refused_texts_.push_back(sentence.c_str());
    view_.datasets = datasets_.data();
    view_.dataset_count = datasets_.size();
    view_.absent = absent_.data();
    view_.missing = missing_.data();
    view_.skipped = skipped_.data();
    view_.refused = refused_texts_.data();
    return view_;
  }

 private:
  dc_step_t view_ = {};
  std::vector<dc_dataset_t> datasets_;
  std::vector<std::int32_t> absent_, missing_;
  std::vector<std::uint32_t> skipped_;
  std::vector<std::string> refused_;
  std::vector<const char*> refused_texts_;
};

}  // namespace damaris::server
