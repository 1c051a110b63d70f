#include "master_file.hpp"

#include <damaris/version.h>

#include <H5DSpublic.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../write/dataset_writer.hpp"
#include "core/base/clock.hpp"

namespace damaris::hdf5 {
namespace {

// The high-level library reads HDF5's identifier from the same variable as this plugin, which is unset if the program has a copy of it
// (file/handle.hpp). Sets it for its lifetime; HDF5 itself does not read it there.
class SetTextType {
 public:
  SetTextType() : before_(H5T_C_S1_g) { set(DAMARIS_HDF5_ID(H5T_C_S1)); }
  ~SetTextType() { set(before_); }
  SetTextType(const SetTextType&) = delete;
  SetTextType& operator=(const SetTextType&) = delete;

 private:
  static void set(hid_t id) {
    if (H5T_C_S1_g != id) H5T_C_S1_g = id;
  }

  hid_t before_;
};

hobj_ref_t reference_to(hid_t object) {
  hobj_ref_t reference = 0;
  checked(H5Rcreate(&reference, object, ".", H5R_OBJECT, -1), "refer to a dataset");
  return reference;
}

// Converts a one-dimensional dataset to a scale.
void make_scale(const Dataset& scale, const std::string& name) {
  const SetTextType set;
  checked(H5DSset_scale(scale.id(), name.c_str()), "make a dimension of", name);
}

}  // namespace

// Does what H5DSattach_scale does, which rewrites a scale's whole list of datasets for each new one.
class ScaleLinks {
 public:
  // Scale k labels dimension k of the dataset. The scales stay open until finish().
  void attach(const Dataset& dataset, const std::vector<hid_t>& scales) {
    const hobj_ref_t labelled = reference_to(dataset.id());
    std::vector<hobj_ref_t> references;
    for (const hid_t scale : scales) references.push_back(reference_to(scale));
    std::vector<hvl_t> lists;
    for (unsigned d = 0; d < scales.size(); ++d) {
      lists.push_back({1, &references[d]});
      uses_[scales[d]].push_back({labelled, d});
    }
    const Type type(H5Tvlen_create(DAMARIS_HDF5_ID(H5T_STD_REF_OBJ)), "make the type of a list");
    write_list(dataset.id(), DIMENSION_LIST, type.id(), lists.size(), lists.data());
  }

  // Lists in each scale what it labels.
  void finish() const {
    const Type type(H5Tcreate(H5T_COMPOUND, sizeof(Use)), "make the type of a list");
    checked(H5Tinsert(type.id(), "dataset", HOFFSET(Use, dataset), DAMARIS_HDF5_ID(H5T_STD_REF_OBJ)), "make the type of a list");
    checked(H5Tinsert(type.id(), "dimension", HOFFSET(Use, dimension), DAMARIS_HDF5_ID(H5T_NATIVE_INT)), "make the type of a list");
    for (const auto& [scale, uses] : uses_) write_list(scale, REFERENCE_LIST, type.id(), uses.size(), uses.data());
  }

 private:
  struct Use {
    hobj_ref_t dataset;
    unsigned dimension;
  };
  std::map<hid_t, std::vector<Use>> uses_;  // by scale
};

namespace {

void select(const Space& space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count) {
  if (start.empty()) return;
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select a part");
}

// The part of the source dataset that is shown. If it is larger than the box, HDF5 takes its extents from the source itself.
Space source_space(const Mapping& mapping) {
  const Box& whole = mapping.whole;
  const std::vector<std::int64_t> inside = mapping.dataset->start.value_or(std::vector<std::int64_t>(DC_MAX_DIMS, 0));
  std::vector<hsize_t> extents, start, count;
  for (int d = 0; d < whole.ndims; ++d) {
    const std::int64_t before = inside[static_cast<std::size_t>(d)];
    extents.push_back(static_cast<hsize_t>(before + whole.extent(d)));
    start.push_back(static_cast<hsize_t>(before + mapping.box.low[d] - whole.low[d]));
    count.push_back(static_cast<hsize_t>(mapping.box.extent(d)));
  }
  Space space = simple_space(extents);
  select(space, start, count);
  return space;
}

// In names of source files, HDF5 replaces "%b" by a number, and "%%" by a percent sign.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char one : name) text += one == '%' ? "%%" : std::string(1, one);
  return text;
}

// `space`: that of the array, with time first, or of a coordinate.
void map(const Properties& properties, const GlobalArray& array, const Mapping& mapping, const Space& space, bool in_time) {
  std::vector<hsize_t> start, count;
  if (in_time) {
    start.push_back(mapping.time);
    count.push_back(1);
  }
  for (int d = 0; d < array.box.ndims; ++d) {
    start.push_back(static_cast<hsize_t>(mapping.box.low[d] - array.box.low[d]));
    count.push_back(static_cast<hsize_t>(mapping.box.extent(d)));
  }
  select(space, start, count);
  checked(H5Pset_virtual(properties.id(), space.id(), escaped(mapping.file->name).c_str(), escaped(mapping.dataset->path).c_str(),
                         source_space(mapping).id()),
          "map", mapping.dataset->path);
}

// False if no value can be the fill value.
bool may_hold_fill(const GlobalArray& array) {
  const dc_variable_info_t& variable = *array.variable;
  const Summary fill = summarize(variable, fill_of(variable).data(), 1);
  if (std::isnan(fill.min)) return false;
  return std::any_of(array.mappings.begin(), array.mappings.end(), [&](const Mapping& mapping) {
    const manifest::DatasetEntry& dataset = *mapping.dataset;
    return !dataset.min || (*dataset.min <= fill.max && fill.min <= *dataset.max);
  });
}

bool has_holes(const GlobalArray& array, std::size_t times) {
  std::int64_t shown = 0;
  for (const Mapping& mapping : array.mappings) shown += volume(mapping.box);
  return shown < volume(array.box) * static_cast<std::int64_t>(times);
}

// Not if nothing is missing and the fill value may be one of the values, as readers would mask these.
bool has_fill(const GlobalArray& array, std::size_t times) { return !may_hold_fill(array) || has_holes(array, times); }

Properties properties_of(const GlobalArray& array, const Space& space, const std::vector<hsize_t>& times) {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  if (has_fill(array, times.empty() ? 1 : times.front())) set_fill(properties, *array.variable);
  for (const Mapping& mapping : array.mappings) map(properties, array, mapping, space, !times.empty());
  checked(H5Sselect_all(space.id()), "select all");
  return properties;
}

// A virtual dataset over the files of all servers. Elements in no file read as the fill value, or without one as zero. The first dimension is
// time, if `times` has the number of its steps; a coordinate has no time and uses only its first step.
Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, const std::vector<hsize_t>& times) {
  std::vector<hsize_t> extents = times;
  for (int d = 0; d < array.box.ndims; ++d) extents.push_back(static_cast<hsize_t>(array.box.extent(d)));
  const Space space = simple_space(extents);
  const Type type = array.scale ? half_type() : type_of(*array.variable);
  const Properties properties = properties_of(array, space, times);
  return Dataset(H5Dcreate2(file, path.c_str(), type.id(), space.id(), link_properties().id(), properties.id(), H5P_DEFAULT),
                 "create the dataset", path);
}

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
    const Dataset dataset = create_virtual(file_, array.variable->path, array, {times});
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
    const Space space = simple_space({size});
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
    Dataset scale = create_virtual(file_, path, view_.coordinates[number], {});
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
    const Space space = simple_space({size});
    // It has no values, so no space is allocated.
    Dataset scale(H5Dcreate2(file_, path.c_str(), DAMARIS_HDF5_ID(H5T_IEEE_F32BE), space.id(), link_properties().id(), H5P_DEFAULT,
                             H5P_DEFAULT),
                  "create the dimension", path);
    make_scale(scale, valueless_name(size));
    return scales_.emplace(path, std::move(scale)).first->second;
  }

  void label(const Dataset& dataset, const GlobalArray& array) const {
    label_variable(dataset.id(), *array.variable);
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
