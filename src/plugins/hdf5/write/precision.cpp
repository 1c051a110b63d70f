#include "precision.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "../layout/memory.hpp"
#include "codec/number_text.hpp"

namespace damaris::hdf5 {

codec::Scaling Float16Scales::choose(std::uint32_t variable, const codec::Range<double>& range) {
  constexpr double kWorse = 2;
  const codec::Scaling fitting = codec::scaling_for(range);
  const auto before = chosen_.find(variable);
  if (before != chosen_.end() && codec::rounding_error(range, before->second) <= kWorse * codec::rounding_error(range, fitting))
    return before->second;
  const bool holds = std::isfinite(codec::rounding_error(range, fitting));
  if (range.finite && (range.min != 0 || range.max != 0) && holds) chosen_[variable] = fitting;
  return fitting;
}

namespace {

template <class T>
codec::Range<T> range_of(const Piece& piece, Staging& staging) {
  codec::Range<T> all;
  for_each_brick(piece.box, brick_extents(piece.box, sizeof(T)), [&](const Box& brick) {
    const auto* values = reinterpret_cast<const T*>(elements_of(piece, brick, staging));
    const codec::Range<T> one = codec::range_of(values, static_cast<std::size_t>(volume(brick)));
    all = codec::merged(all, one);
  });
  return all;
}

// A float is the same number as a double, so nothing is lost.
template <class T>
bool fits(const codec::Range<double>& range, const codec::Scaling& scaling) {
  const T ends[2] = {static_cast<T>(range.min), static_cast<T>(range.max)};
  codec::Half halves[2];
  return !range.finite || codec::quantize(ends, 2, scaling, halves).overflowed == 0;
}

[[noreturn]] void refuse(const dc_variable_info_t& variable, const std::string& path, const codec::Range<double>& range) {
  throw Refused("'" + std::string(variable.path) + "' holds values from " + codec::number_text(range.min) + " to " +
                codec::number_text(range.max) + ", which overflow 16 bits with reduce=\"" + variable.reduce +
                "\"; give another scale or none, or add :keep to store it in its own type; only '" + path + "' is not stored");
}

void plan_float16(const dc_variable_info_t& variable, const std::string& path, const codec::Range<double>& range,
                  Float16Scales& scales, Precision& precision) {
  const dc_reduction_t& asked = variable.reduction;
  precision.scaling = asked.has_packing != 0 ? codec::Scaling{asked.scale, asked.offset} : scales.choose(variable.id, range);
  precision.overflows =
      variable.type == DC_FLOAT32 ? !fits<float>(range, precision.scaling) : !fits<double>(range, precision.scaling);
  if (precision.overflows && asked.has_packing != 0 && asked.keep_on_overflow == 0) refuse(variable, path, range);
  if (precision.overflows) precision.kind = DC_EXACT;
  if (!precision.overflows) precision.element_bytes = sizeof(codec::Half);
}

template <class T>
double apply_to(const Precision& precision, const T* in, std::size_t count, void* out) {
  if (precision.kind == DC_FLOAT16)
    return codec::quantize(in, count, precision.scaling, static_cast<codec::Half*>(out)).largest_error;
  return codec::round_to(in, count, precision.bound, static_cast<T*>(out));
}

}  // namespace

codec::Range<double> range_of_reals(const Piece& piece, Staging& staging) {
  const auto wide = [](const auto& range) {
    return codec::Range<double>{static_cast<double>(range.min), static_cast<double>(range.max), range.finite};
  };
  return piece.variable->type == DC_FLOAT32 ? wide(range_of<float>(piece, staging)) : wide(range_of<double>(piece, staging));
}

Precision plan_precision(const dc_variable_info_t& variable, const std::string& path, const codec::Range<double>& range,
                         Float16Scales& scales) {
  const dc_reduction_t& asked = variable.reduction;
  Precision precision;
  precision.kind = asked.precision;
  precision.type = variable.type;
  precision.element_bytes = variable.element_bytes;
  precision.bound = {asked.precision == DC_ROUND_ABSOLUTE ? codec::ErrorKind::kAbsolute : codec::ErrorKind::kRelative, asked.bound};
  if (asked.precision == DC_FLOAT16) plan_float16(variable, path, range, scales, precision);
  return precision;
}

Precision plan_precision(const Piece& piece, Staging& staging, Float16Scales& scales) {
  const bool needs_range = piece.variable->reduction.precision == DC_FLOAT16;
  return plan_precision(*piece.variable, piece.path, needs_range ? range_of_reals(piece, staging) : codec::Range<double>(), scales);
}

double apply(const Precision& precision, const void* in, std::size_t count, void* out) {
  return precision.type == DC_FLOAT32 ? apply_to(precision, static_cast<const float*>(in), count, out)
                                      : apply_to(precision, static_cast<const double*>(in), count, out);
}

}  // namespace damaris::hdf5
