#include "xdmf_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "view_levels.hpp"

namespace damaris::hdf5 {
namespace {

// Writes XML elements, each on its own line, indented.
class XmlWriter {
 public:
  using Attributes = std::vector<std::pair<const char*, std::string>>;

  explicit XmlWriter(std::size_t depth) : depth_(depth) {}

  // An element with the children that `inside` adds.
  template <class Inside>
  void element(const char* name, const Attributes& attributes, Inside&& inside) {
    begin(name, attributes, ">\n");
    ++depth_;
    inside();
    --depth_;
    text_ += indent() + "</" + name + ">\n";
  }
  void leaf(const char* name, const Attributes& attributes, const std::string& content) {
    begin(name, attributes, ">");
    text_ += escaped(content) + "</" + name + ">\n";
  }
  void empty(const char* name, const Attributes& attributes) { begin(name, attributes, "/>\n"); }

  const std::string& text() const { return text_; }

 private:
  static std::string escaped(const std::string& raw) {
    std::string safe;
    for (const char c : raw) switch (c) {
        case '&':
          safe += "&amp;";
          break;
        case '<':
          safe += "&lt;";
          break;
        case '>':
          safe += "&gt;";
          break;
        case '"':
          safe += "&quot;";
          break;
        default:
          safe += c;
      }
    return safe;
  }
  std::string indent() const { return std::string(2 * depth_, ' '); }
  void begin(const char* name, const Attributes& attributes, const char* end) {
    text_ += indent() + "<" + name;
    for (const auto& [key, value] : attributes) text_ += std::string(" ") + key + "=\"" + escaped(value) + "\"";
    text_ += end;
  }

  std::string text_;
  std::size_t depth_;
};

using Numbers = std::vector<std::int64_t>;

std::string text_of(double value) {
  std::array<char, 32> text = {};  // not snprintf, which depends on the locale
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 17);
  return {text.data(), end.ptr};
}

std::string listed(const Numbers& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

// XDMF's name of the type; nullptr if it has none.
const char* number_type(dc_type type) {
  switch (type) {
    case DC_INT8:
      return "Char";
    case DC_UINT8:
      return "UChar";
    case DC_INT16:
    case DC_INT32:
    case DC_INT64:
      return "Int";
    case DC_UINT16:
    case DC_UINT32:
      return "UInt";
    case DC_FLOAT32:
    case DC_FLOAT64:
      return "Float";
    default:
      return nullptr;
  }
}

// Stacks have no position in space.
bool is_drawable(const GlobalArray& array) {
  return !array.is_stack() && number_type(array.variable->type) != nullptr && array.box.ndims >= 1 && array.box.ndims <= 3 &&
         volume(array.box) > 0;
}

// Padded to three dimensions: a plane or a line is one point thick.
Numbers filled(const Box& box, std::int64_t missing, bool extents) {
  Numbers numbers(static_cast<std::size_t>(3 - box.ndims), missing);
  for (int d = 0; d < box.ndims; ++d) numbers.push_back(extents ? box.extent(d) : box.low[d]);
  return numbers;
}

// The arrays of one shape, position and mesh.
struct GridShape {
  Numbers extents, low;
  std::vector<int> coordinates;  // by dimension of the arrays; empty unless every dimension has a drawable one
  std::vector<const GlobalArray*> arrays;
};

// The coordinates of the array in the whole run, if all can be drawn and the step has all of the array; else none.
std::vector<int> drawable_coordinates(const GlobalArray& in_step, const GlobalView& run) {
  const auto is_same = [&](const GlobalArray& array) { return array.variable == in_step.variable; };
  const auto array = std::find_if(run.arrays.begin(), run.arrays.end(), is_same);
  if (array == run.arrays.end() || !(array->box == in_step.box)) return {};
  const auto is_missing = [&](int number) {
    if (number < 0) return true;
    const GlobalArray& coordinate = run.coordinates[static_cast<std::size_t>(number)];
    return number_type(coordinate.variable->type) == nullptr || coordinate.scale.has_value();
  };
  const bool any = std::any_of(array->coordinates.begin(), array->coordinates.end(), is_missing);
  return any ? std::vector<int>() : array->coordinates;
}

bool is_coordinate(const GlobalArray& array, const GlobalView& run) {
  return std::any_of(run.coordinates.begin(), run.coordinates.end(),
                     [&](const GlobalArray& coordinate) { return coordinate.variable == array.variable; });
}

std::vector<GridShape> shapes_of(const GlobalView& step, const GlobalView& run) {
  std::vector<GridShape> shapes;
  for (const GlobalArray& array : step.arrays) {
    if (!is_drawable(array) || is_coordinate(array, run)) continue;
    const Numbers extents = filled(array.box, 1, true), low = filled(array.box, 0, false);
    const std::vector<int> coordinates = drawable_coordinates(array, run);
    auto found = std::find_if(shapes.begin(), shapes.end(), [&](const GridShape& shape) {
      return shape.extents == extents && shape.low == low && shape.coordinates == coordinates;
    });
    if (found == shapes.end()) found = shapes.insert(shapes.end(), {extents, low, coordinates, {}});
    found->arrays.push_back(&array);
  }
  return shapes;
}

using Times = XdmfText::Times;

Times numbers_of(const GlobalView& view) {
  Times times;
  for (const TimeAxis& axis : view.axes)
    for (const std::int64_t step : axis.steps) times[step] = static_cast<double>(step);
  return times;
}

// Physical times if all steps shown have one and they are strictly increasing; else step numbers.
Times times_of(const GlobalView& view) {
  Times times;
  for (const TimeAxis& axis : view.axes)
    for (std::size_t k = 0; k < axis.steps.size(); ++k) {
      if (axis.times.empty()) return numbers_of(view);
      times[axis.steps[k]] = axis.times[k];
    }
  const auto follows = [](const auto& before, const auto& next) { return before.second >= next.second; };
  return std::adjacent_find(times.begin(), times.end(), follows) == times.end() ? times : numbers_of(view);
}

class StepText {
 public:
  StepText(const XdmfText& whole, const std::string& stem, const XdmfRun& run)
      : stem_(stem), run_(run), view_(run.view), names_(run.names), times_(whole.times()) {}

  // "" if the step has nothing to draw.
  std::string of(std::int64_t step) {
    const auto found = run_.steps.find(step);
    const auto time = times_.find(step);
    if (found == run_.steps.end() || time == times_.end()) return "";
    const GlobalView alone = global_view({*found}, run_.host, false);
    const std::vector<GridShape> shapes = shapes_of(alone, view_);
    if (shapes.empty()) return "";
    step_ = step;
    xml_ = XmlWriter(kDepth);
    xml_.element("Grid", {{"Name", "step " + std::to_string(step)}, {"GridType", "Collection"}, {"CollectionType", "Spatial"}},
                 [&] {
                   xml_.empty("Time", {{"Value", text_of(time->second)}});
                   for (const GridShape& shape : shapes) grid(shape, time->second);
                 });
    return xml_.text();
  }

 private:
  static constexpr std::size_t kDepth = 3;

  void grid(const GridShape& shape, double time) {
    const std::string name = std::to_string(shape.extents[0]) + "x" + std::to_string(shape.extents[1]) + "x" +
                             std::to_string(shape.extents[2]) + (shape.low == Numbers{0, 0, 0} ? "" : " at " + listed(shape.low));
    xml_.element("Grid", {{"Name", name}, {"GridType", "Uniform"}}, [&] {
      xml_.empty("Time", {{"Value", text_of(time)}});
      mesh(shape);
      for (const GlobalArray* const array : shape.arrays) attribute(shape, *array);
    });
  }

  void mesh(const GridShape& shape) {
    const bool even = shape.coordinates.empty();
    xml_.empty("Topology", {{"TopologyType", even ? "3DCoRectMesh" : "3DRectMesh"}, {"Dimensions", listed(shape.extents)}});
    xml_.element("Geometry", {{"GeometryType", even ? "ORIGIN_DXDYDZ" : "VXVYVZ"}}, [&] {
      if (!even) return coordinates(shape);
      xml_.leaf("DataItem", {{"Dimensions", "3"}, {"Format", "XML"}}, listed(shape.low));
      xml_.leaf("DataItem", {{"Dimensions", "3"}, {"Format", "XML"}}, "1 1 1");
    });
  }

  // x first; planes and lines are at zero.
  void coordinates(const GridShape& shape) {
    for (auto number = shape.coordinates.rbegin(); number != shape.coordinates.rend(); ++number) {
      const auto index = static_cast<std::size_t>(*number);
      const GlobalArray& coordinate = view_.coordinates[index];
      const std::string path = coordinate.variable->path;
      const std::string group = path.substr(0, path.rfind('/') + 1);
      values(*coordinate.variable, {coordinate.box.extent(0)}, group + names_.coordinate(index), kMasterSuffix);
    }
    for (std::size_t d = shape.coordinates.size(); d < 3; ++d) xml_.leaf("DataItem", {{"Dimensions", "1"}, {"Format", "XML"}}, "0");
  }

  // Refers to a whole dataset of the view `suffix`.
  void values(const dc_variable_info_t& variable, const Numbers& extents, const std::string& path, const std::string& suffix) {
    xml_.leaf("DataItem",
              {{"Dimensions", listed(extents)},
               {"NumberType", number_type(variable.type)},
               {"Precision", std::to_string(variable.element_bytes)},
               {"Format", "HDF"}},
              view_name(stem_, suffix) + ":/" + path);
  }

  void attribute(const GridShape& shape, const GlobalArray& array) {
    xml_.element("Attribute", {{"Name", array.variable->path}, {"AttributeType", "Scalar"}, {"Center", "Node"}}, [&] {
      if (!array.scale) return slab(shape, array);
      const std::string value = "$0 * " + text_of(*array.scale) + " + " + text_of(array.offset.value_or(0));
      xml_.element("DataItem", {{"ItemType", "Function"}, {"Function", value}, {"Dimensions", listed(shape.extents)}},
                   [&] { slab(shape, array); });
    });
  }

  // Refers to the only time of the array in the view of its step.
  void slab(const GridShape& shape, const GlobalArray& array) {
    Numbers start = {0}, count = {1};
    for (int d = 0; d < array.box.ndims; ++d) {
      start.push_back(0);
      count.push_back(array.box.extent(d));
    }
    Numbers selection = start;
    selection.insert(selection.end(), start.size(), 1);
    selection.insert(selection.end(), count.begin(), count.end());
    xml_.element("DataItem", {{"ItemType", "HyperSlab"}, {"Dimensions", listed(shape.extents)}}, [&] {
      xml_.leaf("DataItem", {{"Dimensions", "3 " + std::to_string(start.size())}, {"Format", "XML"}}, listed(selection));
      values(*array.variable, count, array.variable->path, step_suffix(step_));
    });
  }

  const std::string& stem_;
  const XdmfRun& run_;
  const GlobalView& view_;
  const ViewNames& names_;
  const Times& times_;
  std::int64_t step_ = 0;
  XmlWriter xml_ = XmlWriter(kDepth);
};

}  // namespace

XdmfText::XdmfText(std::string stem, const XdmfRun& run) : stem_(std::move(stem)), run_(run), times_(times_of(run.view)) {}

std::string XdmfText::common() const {
  const auto is_number = [](const auto& one) { return one.second == static_cast<double>(one.first); };
  std::string text = std::all_of(times_.begin(), times_.end(), is_number) ? "numbers" : "times";
  for (const GlobalArray& array : run_.view.arrays)
    for (const int coordinate : array.coordinates) {
      if (coordinate < 0) continue;
      text += std::string(" ") + array.variable->path + "=" + run_.names.coordinate(static_cast<std::size_t>(coordinate));
      for (int d = 0; d < array.box.ndims; ++d)
        text += " " + std::to_string(array.box.low[d]) + ":" + std::to_string(array.box.high[d]);
    }
  return text;
}

std::string XdmfText::of(std::int64_t step) const { return StepText(*this, stem_, run_).of(step); }

}  // namespace damaris::hdf5
