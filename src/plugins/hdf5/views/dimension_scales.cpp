#include "dimension_scales.hpp"

#include <H5DSpublic.h>

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

void write_list(hid_t object, const char* name, const Type& type, hsize_t size, const void* values) {
  const Space space(H5Screate_simple(1, &size, nullptr), "make a space");
  const Attribute list(H5Acreate2(object, name, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), "create the attribute", name);
  checked(H5Awrite(list.id(), type.id(), values), "write the attribute", name);
}

}  // namespace

void make_scale(const Dataset& scale, const std::string& name) {
  const SetTextType set;
  checked(H5DSset_scale(scale.id(), name.c_str()), "make a dimension of", name);
}

void ScaleLinks::attach(const Dataset& dataset, const std::vector<hid_t>& scales) {
  const hobj_ref_t labelled = reference_to(dataset.id());
  std::vector<hobj_ref_t> references;
  for (const hid_t scale : scales) references.push_back(reference_to(scale));
  std::vector<hvl_t> lists;
  for (unsigned d = 0; d < scales.size(); ++d) {
    lists.push_back({1, &references[d]});
    uses_[scales[d]].push_back({labelled, d});
  }
  const Type type(H5Tvlen_create(DAMARIS_HDF5_ID(H5T_STD_REF_OBJ)), "make the type of a list");
  write_list(dataset.id(), DIMENSION_LIST, type, lists.size(), lists.data());
}

void ScaleLinks::finish() const {
  const Type type(H5Tcreate(H5T_COMPOUND, sizeof(Use)), "make the type of a list");
  checked(H5Tinsert(type.id(), "dataset", HOFFSET(Use, dataset), DAMARIS_HDF5_ID(H5T_STD_REF_OBJ)), "make the type of a list");
  checked(H5Tinsert(type.id(), "dimension", HOFFSET(Use, dimension), DAMARIS_HDF5_ID(H5T_NATIVE_INT)), "make the type of a list");
  for (const auto& [scale, uses] : uses_) write_list(scale, REFERENCE_LIST, type, uses.size(), uses.data());
}

}  // namespace damaris::hdf5
