#include "filters.hpp"

#include <damaris/error.hpp>

namespace damaris::hdf5 {
void check_available(const std::vector<Filter>& filters) {
  for (const Filter& filter : filters)
    if (H5Zfilter_avail(filter.kind == Filter::shuffle ? H5Z_FILTER_SHUFFLE : H5Z_FILTER_DEFLATE) <= 0)
      throw Error(DC_E_CONFIG, std::string("filters=\"...\": the HDF5 library of this plugin was built without ") +
                                   (filter.kind == Filter::shuffle ? "shuffle" : "deflate") + "; leave it out");
}

void add_filters(const Properties& dataset, const std::vector<Filter>& filters) {
  for (const Filter& filter : filters) {
    if (filter.kind == Filter::shuffle) checked(H5Pset_shuffle(dataset.id()), "set the shuffle filter");
    if (filter.kind == Filter::deflate) checked(H5Pset_deflate(dataset.id(), filter.level), "set the deflate filter");
  }
}

}  // namespace damaris::hdf5
