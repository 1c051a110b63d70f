#include "precision.hpp"

#include <cmath>
#include <string>

#include "../layout/memory.hpp"
#include "codec/rounding.hpp"

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

template <class T>
bool fits(const codec::Range<T>& range, const codec::Scaling& scaling) {
  const T ends[2] = {range.min, range.max};
  codec::Half halves[2];
  return !range.finite || codec::quantize(ends, 2, scaling, halves).overflowed == 0;
}

[[noreturn]] void refuse(const Piece& piece, double min, double max) {
  throw NotStorable("'" + std::string(piece.variable->path) + "' holds values from " + codec::number_text(min) + " to " +
                    codec::number_text(max) + ", which overflow 16 bits with reduce=\"" + piece.variable->reduce +
                    "\"; give another scale or none, or add :keep to store it in its own type; only '" + piece.path +
                    "' is not stored");
}

template <class T>
void plan_float16(const Piece& piece, Staging& staging, Float16Scales& scales, Precision& precision) {
  const dc_reduction_t& asked = piece.variable->reduction;
  const codec::Range<T> range = range_of<T>(piece, staging);
  const codec::Range<double> wide = {static_cast<double>(range.min), static_cast<double>(range.max), range.finite};
  precision.scaling = asked.has_packing != 0 ? codec::Scaling{asked.scale, asked.offset} : scales.choose(piece.variable->id, wide);
  precision.overflows = !fits(range, precision.scaling);
  if (precision.overflows && asked.has_packing != 0 && asked.keep_on_overflow == 0)
    refuse(piece, static_cast<double>(range.min), static_cast<double>(range.max));
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

Precision plan_precision(const Piece& piece, Staging& staging, Float16Scales& scales) {
  const dc_reduction_t& asked = piece.variable->reduction;
  Precision precision;
  precision.kind = asked.precision;
  precision.type = piece.variable->type;
  precision.element_bytes = piece.variable->element_bytes;
  precision.bound = {asked.precision == DC_ROUND_ABSOLUTE ? codec::ErrorKind::kAbsolute : codec::ErrorKind::kRelative, asked.bound};
  if (asked.precision != DC_FLOAT16) return precision;
  if (precision.type == DC_FLOAT32)
    plan_float16<float>(piece, staging, scales, precision);
  else
    plan_float16<double>(piece, staging, scales, precision);
  return precision;
}

double apply(const Precision& precision, const void* in, std::size_t count, void* out) {
  return precision.type == DC_FLOAT32 ? apply_to(precision, static_cast<const float*>(in), count, out)
                                      : apply_to(precision, static_cast<const double*>(in), count, out);
}

}  // namespace damaris::hdf5
