#include "virtual_array.hpp"

#include <H5DSpublic.h>

#include <utility>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../write/fill.hpp"

namespace damaris::hdf5 {
namespace {

Space space_of(const std::vector<hsize_t>& extents) {
  return Space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "make a space");
}

void select(const Space& space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count) {
  if (start.empty()) return;
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select a part");
}

// In names of source files, HDF5 replaces "%b" by a number, and "%%" by a percent sign.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char one : name) text += one == '%' ? "%%" : std::string(1, one);
  return text;
}

void map(const Properties& properties, const VirtualBlock& block, const Space& space) {
  select(space, block.to, block.to_count);
  const Space source = space_of(block.extents);
  select(source, block.from, block.from_count);
  checked(H5Pset_virtual(properties.id(), space.id(), escaped(block.file).c_str(), escaped(block.path).c_str(), source.id()), "map",
          block.path);
}

Properties properties_of(const GlobalArray& array, const Space& space, const VirtualBlocks& blocks) {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  set_fill(properties, *array.variable);
  for (const VirtualBlock& block : blocks) map(properties, block, space);
  checked(H5Sselect_all(space.id()), "select all");
  return properties;
}

}  // namespace

Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, const std::vector<hsize_t>& extents,
                       const VirtualBlocks& blocks) {
  const Space space = space_of(extents);
  const Type type = array.scale ? half_type() : type_of(*array.variable);
  const Properties properties = properties_of(array, space, blocks);
  return Dataset(H5Dcreate2(file, path.c_str(), type.id(), space.id(), link_properties().id(), properties.id(), H5P_DEFAULT),
                 "create the dataset", path);
}

namespace {

// The high-level library reads HDF5's identifiers from the same variables as this plugin, which are unset if the program has copies of them
// (file/handle.hpp). Sets them for its lifetime; HDF5 itself does not read them there.
class SetIdentifiers {
 public:
  SetIdentifiers() {
    set(text_, DAMARIS_HDF5_ID(H5T_C_S1));
    set(integer_, DAMARIS_HDF5_ID(H5T_NATIVE_INT));
    set(reference_, DAMARIS_HDF5_ID(H5T_STD_REF_OBJ));
  }
  ~SetIdentifiers() {
    for (const auto& [variable, before] : {text_, integer_, reference_})
      if (*variable != before) *variable = before;
  }
  SetIdentifiers(const SetIdentifiers&) = delete;
  SetIdentifiers& operator=(const SetIdentifiers&) = delete;

 private:
  using Saved = std::pair<hid_t*, hid_t>;
  static void set(const Saved& variable, hid_t id) {
    if (*variable.first != id) *variable.first = id;
  }

  Saved text_ = {&H5T_C_S1_g, H5T_C_S1_g};
  Saved integer_ = {&H5T_NATIVE_INT_g, H5T_NATIVE_INT_g};
  Saved reference_ = {&H5T_STD_REF_OBJ_g, H5T_STD_REF_OBJ_g};
};

}  // namespace

void make_scale(const Dataset& scale, const std::string& name) {
  const SetIdentifiers set;
  checked(H5DSset_scale(scale.id(), name.c_str()), "make a dimension of", name);
}

void attach_scale(const Dataset& dataset, const Dataset& scale, unsigned dimension) {
  const SetIdentifiers set;
  checked(H5DSattach_scale(dataset.id(), scale.id(), dimension), "name a dimension of a dataset");
}

}  // namespace damaris::hdf5
