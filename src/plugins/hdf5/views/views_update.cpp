#include "views_update.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/checksum.hpp"
#include "view_levels.hpp"

namespace damaris::hdf5 {

ViewsUpdate::ViewsUpdate(ShownRun& shown, const ViewPlace& place, const dc_host_t& host, Options options)
    : shown_(shown), place_(place), host_(host), options_(options), declarations_(sum_of_declarations(host)) {
  for (const std::int64_t step : shown_.run.take_changed()) {
    shown_.due.insert(step);
    shown_.spans_from = std::min(shown_.spans_from, step);
    shown_.xdmf_from = std::min(shown_.xdmf_from, step);
  }
  for (auto shape = shown_.shapes.begin(); shape != shown_.shapes.end();)
    shape = shown_.run.steps().count(shape->first) > 0 ? std::next(shape) : shown_.shapes.erase(shape);
  for (const auto& [step, known] : shown_.run.steps())
    if (const auto shape = shown_.shapes.find(step); shape != shown_.shapes.end()) shape->second.complete = known.complete;
}

bool ViewsUpdate::write_piece() {
  if (writer_ != nullptr) {
    if (writer_->write_piece()) return true;
    if (has_master_) {
      end();
      return false;
    }
    writer_.reset();
    std::exchange(then_, {})();
    return true;
  }
  if (!shown_.due.empty())
    begin_step();
  else if (!span_ || *span_ < spans_of(shown_.shapes))
    begin_span();
  else
    begin_master();
  return true;
}

// One that was recorded may nevertheless be an older one, or gone.
bool ViewsUpdate::is_up_to_date(const std::string& suffix, std::int64_t number) const {
  return shown_.run.views().count(view_name(place_.stem, suffix)) > 0 && made_of(place_.final_path(suffix)) == number;
}

void ViewsUpdate::begin_step() {
  const std::int64_t step = *shown_.due.begin();
  const auto known = shown_.run.steps().find(step);
  if (known == shown_.run.steps().end()) return void(shown_.due.erase(step));
  const auto entry = std::make_shared<const manifest::StepEntry>(shown_.run.entry(step));
  StepShape shape = {known->second.complete, known->second.time, known->second.declared,
                     shown_.shared.share(stored_arrays(*entry, host_))};
  shown_.shapes.insert_or_assign(step, shape);
  const std::uint32_t lines = shown_.run.sum_of(step);
  const std::int64_t number = codec::crc32(&lines, sizeof(lines), declarations_);
  if (shape.arrays->empty() || is_up_to_date(step_suffix(step), number)) return void(shown_.due.erase(step));
  writer_ = std::make_unique<ViewWriter>(place_, step_view(entry, shape, host_, number), host_);
  then_ = [this, step] { shown_.due.erase(step); };
}

void ViewsUpdate::begin_span() {
  if (!span_) {
    span_ = span_of(shown_.spans_from, shown_.shapes);
    return;
  }
  const std::size_t span = (*span_)++;
  ViewContent content = span_view(span, shown_.shapes, place_.stem, host_, declarations_);
  if (is_up_to_date(content.suffix, made_of(content, declarations_))) return;
  writer_ = std::make_unique<ViewWriter>(place_, std::move(content), host_);
  then_ = [] {};
}

void ViewsUpdate::begin_master() {
  shown_.spans_from = std::numeric_limits<std::int64_t>::max();
  writer_ = std::make_unique<ViewWriter>(place_, master_view(shown_.shapes, place_.stem, host_, options_.complete), host_);
  has_master_ = true;
  not_shown_ = writer_->view().not_shown;
}

void ViewsUpdate::end() {
  if (options_.has_xdmf) {
    shown_.xdmf.update(place_, {shown_.shapes, writer_->view(), writer_->names(), host_}, shown_.xdmf_from);
    shown_.xdmf_from = std::numeric_limits<std::int64_t>::max();
  }
  if (options_.complete || !std::exchange(shown_.is_swept, true)) sweep();
}

void ViewsUpdate::sweep() const {
  std::set<std::string> current;
  for (const auto& [step, shape] : shown_.shapes) current.insert(view_name(place_.stem, step_suffix(step)));
  for (std::size_t span = 0; span < spans_of(shown_.shapes); ++span) current.insert(view_name(place_.stem, span_suffix(span)));
  remove_outdated(place_, current, shown_.run.views());
}

}  // namespace damaris::hdf5
