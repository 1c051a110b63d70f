#include "xdmf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "core/base/output_file.hpp"

namespace damaris::hdf5 {
namespace {

// Writes XML elements, each on its own line, indented.
class XmlWriter {
 public:
  using Attributes = std::vector<std::pair<const char*, std::string>>;

  XmlWriter() : text_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") {}

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
  std::size_t depth_ = 0;
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

std::vector<int> drawable_coordinates(const GlobalArray& array, const GlobalView& view) {
  const auto is_missing = [&](int number) {
    if (number < 0) return true;
    const GlobalArray& coordinate = view.coordinates[static_cast<std::size_t>(number)];
    return number_type(coordinate.variable->type) == nullptr || coordinate.scale.has_value();
  };
  const bool any = std::any_of(array.coordinates.begin(), array.coordinates.end(), is_missing);
  return any ? std::vector<int>() : array.coordinates;
}

std::vector<GridShape> shapes_of(const GlobalView& view) {
  std::vector<GridShape> shapes;
  for (const GlobalArray& array : view.arrays) {
    if (!is_drawable(array)) continue;
    const Numbers extents = filled(array.box, 1, true), low = filled(array.box, 0, false);
    const std::vector<int> coordinates = drawable_coordinates(array, view);
    auto found = std::find_if(shapes.begin(), shapes.end(), [&](const GridShape& shape) {
      return shape.extents == extents && shape.low == low && shape.coordinates == coordinates;
    });
    if (found == shapes.end()) found = shapes.insert(shapes.end(), {extents, low, coordinates, {}});
    found->arrays.push_back(&array);
  }
  return shapes;
}

using Times = std::map<std::int64_t, std::string>;  // by step

Times numbers_of(const GlobalView& view) {
  Times times;
  for (const TimeAxis& axis : view.axes)
    for (const std::int64_t step : axis.steps) times[step] = std::to_string(step);
  return times;
}

// Physical times if all steps shown have one and they are strictly increasing; else step numbers.
Times times_of(const GlobalView& view) {
  std::map<std::int64_t, double> physical;
  for (const TimeAxis& axis : view.axes)
    for (std::size_t k = 0; k < axis.steps.size(); ++k) {
      if (axis.times.empty()) return numbers_of(view);
      physical[axis.steps[k]] = axis.times[k];
    }
  const auto follows = [](const auto& before, const auto& next) { return before.second >= next.second; };
  if (std::adjacent_find(physical.begin(), physical.end(), follows) != physical.end()) return numbers_of(view);
  Times times;
  for (const auto& [step, time] : physical) times[step] = text_of(time);
  return times;
}

class XdmfDocument {
 public:
  XdmfDocument(std::string stem, const GlobalView& view, const ViewNames& names)
      : stem_(std::move(stem)), view_(view), names_(names), times_(times_of(view)) {}

  std::string text() {
    xml_.element("Xdmf", {{"Version", "2.0"}}, [&] {
      xml_.element("Domain", {{"Name", kXdmfDomain}}, [&] {
        for (const GridShape& shape : shapes_of(view_)) collection(shape);
      });
    });
    return xml_.text();
  }

 private:
  void collection(const GridShape& shape) {
    const std::string name = std::to_string(shape.extents[0]) + "x" + std::to_string(shape.extents[1]) + "x" +
                             std::to_string(shape.extents[2]) + (shape.low == Numbers{0, 0, 0} ? "" : " at " + listed(shape.low));
    xml_.element("Grid", {{"Name", name}, {"GridType", "Collection"}, {"CollectionType", "Temporal"}}, [&] {
      for (const auto& [step, time] : times_) grid(shape, name, step, time);
    });
  }

  // Adds nothing in steps without a stored array of the shape.
  void grid(const GridShape& shape, const std::string& name, std::int64_t step, const std::string& time) {
    std::vector<std::pair<const GlobalArray*, std::size_t>> stored;
    for (const GlobalArray* array : shape.arrays) {
      const Numbers& steps = view_.axes[array->axis].steps;
      const auto found = std::lower_bound(steps.begin(), steps.end(), step);
      if (found != steps.end() && *found == step) stored.emplace_back(array, found - steps.begin());
    }
    if (stored.empty()) return;
    xml_.element("Grid", {{"Name", name}, {"GridType", "Uniform"}}, [&] {
      xml_.empty("Time", {{"Value", time}});
      mesh(shape);
      for (const auto& [array, index] : stored) attribute(shape, *array, static_cast<std::int64_t>(index));
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
      values(*coordinate.variable, {coordinate.box.extent(0)}, group + names_.coordinate(index));
    }
    for (std::size_t d = shape.coordinates.size(); d < 3; ++d) xml_.leaf("DataItem", {{"Dimensions", "1"}, {"Format", "XML"}}, "0");
  }

  // Refers to a whole dataset of the master file.
  void values(const dc_variable_info_t& variable, const Numbers& extents, const std::string& path) {
    xml_.leaf("DataItem",
              {{"Dimensions", listed(extents)},
               {"NumberType", number_type(variable.type)},
               {"Precision", std::to_string(variable.element_bytes)},
               {"Format", "HDF"}},
              stem_ + kMasterSuffix + ":/" + path);
  }

  void attribute(const GridShape& shape, const GlobalArray& array, std::int64_t index) {
    xml_.element("Attribute", {{"Name", array.variable->path}, {"AttributeType", "Scalar"}, {"Center", "Node"}}, [&] {
      if (!array.scale) return slab(shape, array, index);
      const std::string value = "$0 * " + text_of(*array.scale) + " + " + text_of(array.offset.value_or(0));
      xml_.element("DataItem", {{"ItemType", "Function"}, {"Function", value}, {"Dimensions", listed(shape.extents)}},
                   [&] { slab(shape, array, index); });
    });
  }

  // Refers to one step of the array in the master file.
  void slab(const GridShape& shape, const GlobalArray& array, std::int64_t index) {
    Numbers start = {index}, count = {1}, whole = {static_cast<std::int64_t>(view_.axes[array.axis].steps.size())};
    for (int d = 0; d < array.box.ndims; ++d) {
      start.push_back(0);
      count.push_back(array.box.extent(d));
      whole.push_back(array.box.extent(d));
    }
    Numbers selection = start;
    selection.insert(selection.end(), start.size(), 1);
    selection.insert(selection.end(), count.begin(), count.end());
    xml_.element("DataItem", {{"ItemType", "HyperSlab"}, {"Dimensions", listed(shape.extents)}}, [&] {
      xml_.leaf("DataItem", {{"Dimensions", "3 " + std::to_string(start.size())}, {"Format", "XML"}}, listed(selection));
      values(*array.variable, whole, array.variable->path);
    });
  }

  std::string stem_;
  const GlobalView& view_;
  const ViewNames& names_;
  Times times_;
  XmlWriter xml_;
};

}  // namespace

bool can_name(const std::string& stem) {
  const auto is_known = [](char one) { return one >= ' ' && one <= '~' && one != ':' && one != '\\'; };
  return std::all_of(stem.begin(), stem.end(), is_known) && stem.rfind(' ', 0) != 0;
}

void write_xdmf(const ViewPlace& place, const GlobalView& view, const ViewNames& names) {
  OutputFile output(place.temporary_path(kXdmfSuffix), place.final_path(kXdmfSuffix));
  output.append(XdmfDocument(place.stem, view, names).text());
  put_in_place(output, place);
}

}  // namespace damaris::hdf5
