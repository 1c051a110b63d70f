#include "scales.hpp"

#include <H5DSpublic.h>

#include <utility>

#include "../file/library.hpp"

namespace damaris::hdf5 {
namespace {

// The high-level library reads HDF5's identifiers from the same variables as this plugin: unset where the program has its own copies
// of them (library.hpp). While this lives they are set; HDF5 itself does not look at them there.
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
