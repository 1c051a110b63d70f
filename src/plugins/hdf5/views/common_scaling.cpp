#include "common_scaling.hpp"

#include <algorithm>

namespace damaris::hdf5 {
namespace {

enum Fit { kNothing, kItsOffset, kItsScale };  // what must be equal

Fit fit_of(const manifest::DatasetEntry& dataset) {
  if (!dataset.scale) return kItsScale;
  if (!dataset.min || !dataset.max) return kNothing;
  return *dataset.min == 0 && *dataset.max == 0 && dataset.offset.value_or(0) == 0 ? kItsOffset : kItsScale;
}

bool go_together(const manifest::DatasetEntry& a, const manifest::DatasetEntry& b) {
  if (a.scale.has_value() != b.scale.has_value()) return false;
  const Fit fit = std::min(fit_of(a), fit_of(b));
  return fit == kNothing || (a.offset == b.offset && (fit == kItsOffset || a.scale == b.scale));
}

bool asked_for_16_bits(const manifest::DatasetEntry& dataset) { return dataset.reduce.rfind("float16", 0) == 0; }

std::string why_not(const manifest::FileEntry& one, const manifest::DatasetEntry& a, const manifest::FileEntry& other,
                    const manifest::DatasetEntry& b) {
  if (a.scale && b.scale)
    return "its 16-bit parts have different scales and offsets (" + one.name + " and " + other.name +
           "); give common ones with float16:SCALE:OFFSET in the XML";
  const manifest::FileEntry& wide_file = a.scale ? other : one;
  const manifest::DatasetEntry& wide = a.scale ? b : a;
  if (asked_for_16_bits(wide))
    return "its values overflow 16 bits in " + wide_file.name +
           " and keep their type there (:keep); use a larger SCALE in float16:SCALE:OFFSET";
  return "it has 16 bits in " + (a.scale ? one : other).name + ", but not in " + wide_file.name +
         "; use the same reduce in the XML of all runs of a manifest";
}

}  // namespace

void CommonScaling::add(const manifest::FileEntry& file, const manifest::DatasetEntry& dataset) {
  if (!obstacle_.empty() || volume(dataset.box) == 0) return;
  if (part_ != nullptr && !go_together(*part_, dataset)) {
    obstacle_ = why_not(*file_, *part_, file, dataset);
    return;
  }
  if (part_ != nullptr && fit_of(dataset) <= fit_of(*part_)) return;
  file_ = &file;
  part_ = &dataset;
}

}  // namespace damaris::hdf5
