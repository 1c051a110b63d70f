#include "view_levels.hpp"

#include <damaris/version.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../restart/stored_layout.hpp"
#include "../write/labels.hpp"
#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "manifest/views.hpp"
#include "step_parts.hpp"

namespace damaris::hdf5 {
namespace {

std::vector<hsize_t> extents_of(const Box& box) {
  std::vector<hsize_t> extents;
  for (int d = 0; d < box.ndims; ++d) extents.push_back(static_cast<hsize_t>(box.extent(d)));
  return extents;
}

std::vector<hsize_t> place_in(const Box& box, const Box& whole) {
  std::vector<hsize_t> place;
  for (int d = 0; d < box.ndims; ++d) place.push_back(static_cast<hsize_t>(box.low[d] - whole.low[d]));
  return place;
}

std::vector<hsize_t> behind(hsize_t time, std::vector<hsize_t> others) {
  others.insert(others.begin(), time);
  return others;
}

// A part in a file of a server, which may have more than is shown of it.
VirtualBlock block_of(const Shown& shown, const Box& whole) {
  const PlacedDataset& part = *shown.part;
  const std::vector<std::int64_t> inside = part.dataset->start.value_or(std::vector<std::int64_t>(DC_MAX_DIMS, 0));
  VirtualBlock block = {
      part.file->name, part.dataset->path, behind(0, place_in(shown.box, whole)), behind(1, extents_of(shown.box)), {}, {}, {}};
  for (int d = 0; d < part.box.ndims; ++d) {
    const std::int64_t before = inside[static_cast<std::size_t>(d)];
    block.extents.push_back(static_cast<hsize_t>(before + part.box.extent(d)));
    block.from.push_back(static_cast<hsize_t>(before + shown.box.low[d] - part.box.low[d]));
  }
  block.from_count = extents_of(shown.box);
  return block;
}

// All of an array in another view, at index `time` of this one.
VirtualBlock block_of(const GlobalArray& array, const std::string& file, const Box& box, std::size_t time, std::size_t times) {
  const std::vector<hsize_t> whole = behind(times, extents_of(box));
  return {file, array.variable->path, behind(time, place_in(box, array.box)), whole, whole, std::vector<hsize_t>(whole.size(), 0),
          whole};
}

void label_view(hid_t file, const char* format, const GlobalView& view, const dc_host_t& host) {
  write_attribute(file, "format", std::string(format));
  write_attribute(file, "format_version", kFormatVersion);
  write_attribute(file, "Conventions", std::string("CF-1.8"));
  write_attribute(file, "title", std::string(host.simulation));
  write_attribute(file, "simulation", std::string(host.simulation));
  write_attribute(file, "damaris_version", std::string(DAMARIS_VERSION));
  write_attribute(file, "history", utc_now() + " Damaris " + DAMARIS_VERSION + " wrote this view of the run's files");
  write_attribute(
      file, "comment",
      std::string("A read keeps all files open that it reads from. Values of missing files, or beyond the limit of open files "
                  "(ulimit -n), read as the fill value without an error; damaris verify --views counts them."));
  std::vector<std::string> not_shown;
  for (const NotShown& variable : view.not_shown) not_shown.push_back(variable.variable + ": " + variable.why);
  write_attribute(file, "not_shown", not_shown);
}

void label_extent(hid_t file, const StepShapes& steps, bool complete) {
  if (!steps.empty()) write_attribute(file, "shown_until", steps.rbegin()->first);
  write_attribute(file, "complete", std::int32_t{complete ? 1 : 0});
  std::vector<std::int64_t> incomplete;
  for (const auto& [step, record] : steps)
    if (!record.complete) incomplete.push_back(step);
  write_attribute(file, "incomplete_iterations", incomplete);
}

std::uint32_t sum(const std::string& text, std::uint32_t before = 0) { return codec::crc32(text.data(), text.size(), before); }

// The number of the span of each step that has data.
class Spans {
 public:
  explicit Spans(const StepShapes& steps) {
    for (const auto& [step, shape] : steps)
      if (!shape.arrays->empty()) steps_.push_back(step);
  }
  std::size_t count() const { return (steps_.size() + kSpan - 1) / kSpan; }
  std::size_t of(std::int64_t step) const {
    return static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), step) - steps_.begin()) / kSpan;
  }
  // The steps of a span: from the first to before the second; end of all: none.
  std::pair<std::int64_t, std::optional<std::int64_t>> limits(std::size_t span) const {
    const std::size_t end = (span + 1) * kSpan;
    return {steps_[span * kSpan], end < steps_.size() ? std::optional(steps_[end]) : std::nullopt};
  }

 private:
  std::vector<std::int64_t> steps_;
};

// The blocks of an array in the master file: one for each span in which it was stored.
VirtualBlocks blocks_in_spans(const GlobalArray& array, const std::vector<std::int64_t>& steps, const Spans& spans,
                              const std::string& stem) {
  VirtualBlocks blocks;
  for (std::size_t begin = 0; begin < steps.size();) {
    const std::size_t span = spans.of(steps[begin]);
    std::size_t end = begin + 1;
    while (end < steps.size() && spans.of(steps[end]) == span) ++end;
    const auto first = array.steps.begin();
    const Box box = box_around({first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)});
    if (volume(box) > 0) blocks.push_back(block_of(array, view_name(stem, span_suffix(span)), box, begin, end - begin));
    begin = end;
  }
  return blocks;
}

// A coordinate as it was stored first, from the view of that step.
VirtualBlocks blocks_of_coordinate(const GlobalArray& coordinate, std::int64_t first, const std::string& stem) {
  const Box box = box_around({coordinate.steps.front()});
  if (volume(box) == 0) return {};
  VirtualBlock block = block_of(coordinate, view_name(stem, step_suffix(first)), box, 0, 1);
  block.to.erase(block.to.begin());
  block.to_count.erase(block.to_count.begin());
  return {block};
}

}  // namespace

std::string step_suffix(std::int64_t step) { return ".step" + std::to_string(step) + ".h5"; }
std::string span_suffix(std::size_t span) { return ".span" + std::to_string(span) + ".h5"; }

std::uint32_t sum_of_declarations(const dc_host_t& host) {
  std::uint32_t all = sum(host.simulation);
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const dc_variable_info_t& one = host.variables[i];
    all = sum(std::string(one.path) + '\n' + manifest::declared_as(one) + '\n' + one.description + '\n' + one.layout + '\n' +
                  std::to_string(one.ndims),
              all);
  }
  return all;
}

std::optional<std::int64_t> made_of(const std::string& path) try {
  const QuietErrors quiet;
  const File file = open_stored(path);
  if (H5Aexists(file.id(), kMadeOf) <= 0) return std::nullopt;
  const Attribute attribute(H5Aopen(file.id(), kMadeOf, H5P_DEFAULT), "open the attribute", kMadeOf);
  std::int64_t number = 0;
  checked(H5Aread(attribute.id(), DAMARIS_HDF5_ID(H5T_NATIVE_INT64), &number), "read the attribute", kMadeOf);
  return number;
} catch (const Failure&) {
  return std::nullopt;
}

ViewContent step_view(std::shared_ptr<const manifest::StepEntry> step, const StepShape& shape, const dc_host_t& host,
                      std::int64_t made_of) {
  auto alone = std::make_shared<StepShapes>();
  alone->emplace(step->step, shape);
  auto parts = std::make_shared<std::map<std::string, std::vector<PlacedDataset>>>(parts_of(*step));
  ViewContent content = {step_suffix(step->step), global_view(*alone, host, false), {}, {}, {}};
  content.blocks = [step, alone, parts](const GlobalArray& array) {
    VirtualBlocks blocks;
    for (const Shown& shown : shown_parts(parts->at(array.variable->path))) blocks.push_back(block_of(shown, array.box));
    return blocks;
  };
  content.label = [step, made_of, not_shown = content.view.not_shown, &host](hid_t file) {
    GlobalView view;
    view.not_shown = not_shown;
    label_view(file, "damaris-step", view, host);
    label_step(file, step->step, step->time);
    write_attribute(file, kMadeOf, made_of);
  };
  return content;
}

std::size_t spans_of(const StepShapes& steps) { return Spans(steps).count(); }
std::size_t span_of(std::int64_t step, const StepShapes& steps) { return Spans(steps).of(step); }

ViewContent span_view(std::size_t span, const StepShapes& steps, const std::string& stem, const dc_host_t& host,
                      std::uint32_t declarations) {
  const auto [first, end] = Spans(steps).limits(span);
  const auto own = std::make_shared<StepShapes>(steps.lower_bound(first), end ? steps.lower_bound(*end) : steps.end());
  ViewContent content = {span_suffix(span), global_view(*own, host, false), {}, {}, {}, false};
  content.blocks = [own, axes = content.view.axes, stem](const GlobalArray& array) {
    VirtualBlocks blocks;
    for (std::size_t k = 0; k < array.steps.size(); ++k) {
      const Box box = box_around({array.steps[k]});
      if (volume(box) > 0) blocks.push_back(block_of(array, view_name(stem, step_suffix(axes[array.axis].steps[k])), box, k, 1));
    }
    return blocks;
  };
  const std::int64_t number = made_of(content, declarations);
  content.label = [own, number, &host](hid_t file) {
    label_view(file, "damaris-span", {}, host);
    std::vector<std::int64_t> numbers;
    for (const auto& [step, shape] : *own) numbers.push_back(step);
    write_attribute(file, "iterations", numbers);
    write_attribute(file, kMadeOf, number);
  };
  return content;
}

std::int64_t made_of(const ViewContent& span, std::uint32_t declarations) {
  std::uint32_t all = declarations;
  for (const GlobalArray& array : span.view.arrays) {
    all = sum(array.variable->path + std::string(array.scale ? " half" : ""), all);
    for (std::size_t k = 0; k < array.steps.size(); ++k) {
      const Box box = box_around({array.steps[k]});
      std::string text = std::to_string(span.view.axes[array.axis].steps[k]);
      for (int d = 0; d < box.ndims; ++d) text += " " + std::to_string(box.low[d]) + ":" + std::to_string(box.high[d]);
      all = sum(text + "\n", all);
    }
  }
  return all;
}

ViewContent master_view(const StepShapes& steps, const std::string& stem, const dc_host_t& host, bool complete) {
  ViewContent content = {".h5", global_view(steps, host), {}, {}, {}};
  const auto spans = std::make_shared<const Spans>(steps);
  content.blocks = [spans, axes = content.view.axes, stem](const GlobalArray& array) {
    return blocks_in_spans(array, axes[array.axis].steps, *spans, stem);
  };
  std::map<const dc_variable_info_t*, std::int64_t> first;
  for (const GlobalArray& coordinate : content.view.coordinates)
    for (const auto& [step, shape] : steps)
      if (shape.arrays->count(coordinate.variable->path) > 0 && first.emplace(coordinate.variable, step).second) break;
  content.coordinate_blocks = [first, stem](const GlobalArray& coordinate) {
    return blocks_of_coordinate(coordinate, first.at(coordinate.variable), stem);
  };
  content.label = [&steps, complete, not_shown = content.view.not_shown, &host](hid_t file) {
    GlobalView view;
    view.not_shown = not_shown;
    label_view(file, "damaris-master", view, host);
    label_extent(file, steps, complete);
  };
  return content;
}

}  // namespace damaris::hdf5
