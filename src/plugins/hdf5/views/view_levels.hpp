// What the three levels of views show: a step its parts, a span of steps their views, and the master file the spans. A step that is added
// costs its own view, and those of its span and of the spans: so the cost of a step hardly grows with the run.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: step_shape.hpp, and a step of the manifest. After it: view_file.hpp writes them.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/entries.hpp"
#include "step_shape.hpp"
#include "view_file.hpp"

namespace damaris::hdf5 {

// Steps of a span: as many as make the views of a span, and of a thousand steps, short.
constexpr std::size_t kSpan = 64;

std::string step_suffix(std::int64_t step);  // ".step42.h5"; view_name() makes it a file name
std::string span_suffix(std::size_t span);   // ".span0.h5"

// What all views of a run depend on besides its steps.
std::uint32_t sum_of_declarations(const dc_host_t& host);

// A view that exists is written again only if this number, which it has as an attribute, is another one.
constexpr char kMadeOf[] = "made_of";
// That of the view at `path`; none if there is no view of Damaris.
std::optional<std::int64_t> made_of(const std::string& path);

// `made_of`: changes with the lines of the step and the declarations.
ViewContent step_view(std::shared_ptr<const manifest::StepEntry> step, const StepShape& shape, const dc_host_t& host,
                      std::int64_t made_of);
// The contents point into `steps`: all of the run. A span has the steps kSpan * `span` to kSpan * (`span` + 1) - 1, counted.
ViewContent span_view(std::size_t span, const StepShapes& steps, const std::string& stem, const dc_host_t& host,
                      std::uint32_t declarations);
std::size_t spans_of(const StepShapes& steps);
std::size_t span_of(std::int64_t step, const StepShapes& steps);
std::int64_t made_of(const ViewContent& span, std::uint32_t declarations);
// `complete`: the run has ended.
ViewContent master_view(const StepShapes& steps, const std::string& stem, const dc_host_t& host, bool complete);

}  // namespace damaris::hdf5
