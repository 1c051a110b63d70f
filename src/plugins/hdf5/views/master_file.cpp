#include "master_file.hpp"

#include <damaris/version.h>

#include <algorithm>
#include <map>
#include <utility>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../write/fill.hpp"
#include "../write/labels.hpp"
#include "core/base/clock.hpp"
#include "dimension_scales.hpp"
#include "virtual_array.hpp"

namespace damaris::hdf5 {
namespace {

// "fields/" of "fields/theta", "" of "theta".
std::string group_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// netCDF's name for a dimension without values.
std::string valueless_name(hsize_t size) {
  std::string digits = std::to_string(size);
  digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, ' ');
  return "This is a netCDF dimension but not a netCDF variable." + digits;
}

}  // namespace

class MasterWriter::Content {
 public:
  Content(hid_t file, const GlobalView& view, const ViewNames& names, std::string time_unit)
      : file_(file), view_(view), names_(names), time_unit_(std::move(time_unit)) {}

  void add_scales() {
    if (!view_.axes.empty()) time_scale("", 0);
    for (std::size_t k = 0; k < view_.coordinates.size(); ++k) coordinate_scale(group_of(view_.coordinates[k].variable->path), k);
  }

  // Each group has the dimensions of its variables, so that it can be opened on its own.
  void add_array(std::size_t number) {
    const GlobalArray& array = view_.arrays[number];
    const std::string group = group_of(array.variable->path);
    const std::size_t times = view_.axes[array.axis].steps.size();
    const Dataset dataset = create_virtual(file_, array.variable->path, array, times);
    std::vector<hid_t> scales = {time_scale(group, array.axis).id()};
    for (int d = 0; d < array.box.ndims; ++d) scales.push_back(scale_of(group, number, static_cast<std::size_t>(d)).id());
    links_.attach(dataset, scales);
    label(dataset, array);
    if (!array.scale && has_fill(array, times))
      label_fill(dataset.id(), *array.variable);  // netCDF has no fill value for 16-bit reals
    write_attribute(dataset.id(), "coordinates", names_.step(array.axis));
  }

  void finish() const { links_.finish(); }

 private:
  template <class Value>
  Dataset list(const std::string& path, hid_t type, const std::vector<Value>& values) const {
    const hsize_t size = values.size();
    const Space space(H5Screate_simple(1, &size, nullptr), "make a space");
    Dataset dataset(H5Dcreate2(file_, path.c_str(), type, space.id(), link_properties().id(), H5P_DEFAULT, H5P_DEFAULT),
                    "create the dataset", path);
    checked(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write the dataset", path);
    return dataset;
  }

  // As reals, unless they do not hold the numbers of the steps.
  Dataset time_list(const std::string& path, const TimeAxis& axis) const {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (axis.times.empty() && axis.steps.back() > kExact) return list(path, DAMARIS_HDF5_ID(H5T_NATIVE_INT64), axis.steps);
    const std::vector<double> numbers(axis.steps.begin(), axis.steps.end());
    return list(path, DAMARIS_HDF5_ID(H5T_NATIVE_DOUBLE), axis.times.empty() ? numbers : axis.times);
  }

  const Dataset& scale_of(const std::string& group, std::size_t array, std::size_t dimension) {
    const int coordinate = view_.arrays[array].coordinates[dimension];
    if (coordinate >= 0) return coordinate_scale(group, static_cast<std::size_t>(coordinate));
    return plain_scale(group, names_.dimensions(array)[dimension], view_.arrays[array].box.extent(static_cast<int>(dimension)));
  }

  const Dataset& coordinate_scale(const std::string& group, std::size_t number) {
    const std::string path = group + names_.coordinate(number);
    if (const auto found = scales_.find(path); found != scales_.end()) return found->second;
    Dataset scale = create_virtual_coordinate(file_, path, view_.coordinates[number]);
    make_scale(scale, names_.coordinate(number));
    label(scale, view_.coordinates[number]);
    return scales_.emplace(path, std::move(scale)).first->second;
  }

  const Dataset& time_scale(const std::string& group, std::size_t number) {
    const TimeAxis& axis = view_.axes[number];
    const std::string path = group + names_.time(number);
    if (const auto found = scales_.find(path); found != scales_.end()) return found->second;
    const bool physical = !axis.times.empty();
    Dataset scale = time_list(path, axis);
    make_scale(scale, names_.time(number));
    label_text(scale.id(), "units", physical ? time_unit_.c_str() : "1");
    write_attribute(scale.id(), "long_name", std::string(physical ? "physical time" : "iteration"));
    write_attribute(scale.id(), "axis", std::string("T"));
    const Dataset steps = list(group + names_.step(number), DAMARIS_HDF5_ID(H5T_NATIVE_INT64), axis.steps);
    write_attribute(steps.id(), "long_name", std::string("iteration"));
    links_.attach(steps, {scale.id()});
    return scales_.emplace(path, std::move(scale)).first->second;
  }

  const Dataset& plain_scale(const std::string& group, const std::string& name, std::int64_t extent) {
    const std::string path = group + name;
    if (const auto found = scales_.find(path); found != scales_.end()) return found->second;
    const auto size = static_cast<hsize_t>(extent);
    const Space space(H5Screate_simple(1, &size, nullptr), "make a space");
    // It has no values, so no space is allocated.
    Dataset scale(H5Dcreate2(file_, path.c_str(), DAMARIS_HDF5_ID(H5T_IEEE_F32BE), space.id(), link_properties().id(), H5P_DEFAULT,
                             H5P_DEFAULT),
                  "create the dimension", path);
    make_scale(scale, valueless_name(size));
    return scales_.emplace(path, std::move(scale)).first->second;
  }

  void label(const Dataset& dataset, const GlobalArray& array) const {
    const dc_variable_info_t& variable = *array.variable;
    label_text(dataset.id(), "units", variable.unit);
    label_text(dataset.id(), "long_name", variable.description);
    label_text(dataset.id(), "layout", variable.layout);
    const std::int64_t *low = array.box.low.data(), *end = low + array.box.ndims;
    if (std::any_of(low, end, [](std::int64_t place) { return place != 0; }))
      write_attribute(dataset.id(), "position", std::vector<std::int64_t>(low, end));
    if (array.is_stack()) {
      write_attribute(dataset.id(), "sources", array.sources);
      write_attribute(dataset.id(), "blocks", array.blocks);
    }
    if (array.scale) write_attribute(dataset.id(), "scale_factor", *array.scale);
    if (array.offset) write_attribute(dataset.id(), "add_offset", *array.offset);
  }

  hid_t file_;
  const GlobalView& view_;
  const ViewNames& names_;
  std::string time_unit_;
  std::map<std::string, Dataset> scales_;  // by path
  ScaleLinks links_;
};

namespace {

void label_extent(hid_t file, const Steps& steps, bool complete) {
  if (!steps.empty()) write_attribute(file, "shown_until", steps.rbegin()->first);
  write_attribute(file, "complete", std::int32_t{complete ? 1 : 0});
  std::vector<std::int64_t> incomplete;
  for (const auto& [step, record] : steps)
    if (!record.complete) incomplete.push_back(step);
  write_attribute(file, "incomplete_iterations", incomplete);
}

std::string time_unit_of(const dc_host_t& host) {
  for (std::size_t i = 0; i < host.setting_count; ++i)
    if (std::string(host.settings[i].key) == "time-unit") return host.settings[i].value;
  return "s";
}

void label_master(hid_t file, const dc_host_t& host) {
  write_attribute(file, "format", std::string("damaris-master"));
  write_attribute(file, "format_version", kFormatVersion);
  write_attribute(file, "Conventions", std::string("CF-1.8"));
  write_attribute(file, "title", std::string(host.simulation));
  write_attribute(file, "simulation", std::string(host.simulation));
  write_attribute(file, "damaris_version", std::string(DAMARIS_VERSION));
  write_attribute(file, "history", utc_now() + " Damaris " + DAMARIS_VERSION + " wrote this view of the run's files");
  write_attribute(
      file, "comment",
      std::string(
          "A read keeps all files open that it reads from. Values of missing files, or beyond the limit of open files "
          "(ulimit -n), read as the fill value, or without one as zero, without an error; damaris verify --views counts them."));
}

}  // namespace

MasterWriter::MasterWriter(const ViewPlace& place, const GlobalView& view, const ViewNames& names, const Steps& steps,
                           const dc_host_t& host, bool complete)
    : place_(place),
      view_(view),
      output_(place.temporary_path(kMasterSuffix), place.final_path(kMasterSuffix)),
      file_(output_.descriptor(), output_.temporary_path()),
      content_(std::make_unique<Content>(file_.id(), view, names, time_unit_of(host))) {
  for (const NotShown& variable : view.not_shown) not_shown_.push_back(variable.variable + ": " + variable.why);
  label_master(file_.id(), host);
  label_extent(file_.id(), steps, complete);
}

MasterWriter::~MasterWriter() = default;

// What HDF5 cannot hold of one variable costs the others nothing.
void MasterWriter::add_array(std::size_t number) try { content_->add_array(number); } catch (const Failure& failure) {
  file_.check();
  if (failure.system_error() != 0) throw;
  not_shown_.push_back(std::string(view_.arrays[number].variable->path) + ": " + failure.what());
}

bool MasterWriter::write_piece() {
  const std::size_t piece = next_++, arrays = view_.arrays.size();
  if (piece == 0) content_->add_scales();
  if (piece > 0 && piece <= arrays) add_array(piece - 1);
  if (piece <= arrays) return true;
  content_->finish();
  content_.reset();
  write_attribute(file_.id(), "not_shown", not_shown_);
  file_.close();
  put_in_place(output_, place_);
  return false;
}

}  // namespace damaris::hdf5
