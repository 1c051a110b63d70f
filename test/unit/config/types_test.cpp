#include <catch2/catch.hpp>

#include <cstddef>

#include "unit/config/parse_text.hpp"

using namespace damaris::model;
using damaris::test::model_of;

namespace {

dc_type type_of(const std::string& name) {
  return model_of("<layout name='l' type='" + name + "' dimensions='1'/>").layouts.at(0).type;
}

struct Body {
  double position[3];
  float mass;
  std::int32_t id;
  char kind;
};

constexpr char kFields[] =
    "<field name='position' type='double' count='3'/><field name='mass' type='float'/><field name='id' type='int'/><field "
    "name='kind' type='char'/>";

}  // namespace

TEST_CASE("every built-in type is known by its names") {
  const std::pair<const char*, dc_type> types[] = {
      {"int8", DC_INT8},       {"int16", DC_INT16},    {"short", DC_INT16},    {"int32", DC_INT32},     {"int", DC_INT32},
      {"integer", DC_INT32},   {"int64", DC_INT64},    {"long", DC_INT64},     {"uint8", DC_UINT8},     {"uint16", DC_UINT16},
      {"uint32", DC_UINT32},   {"uint64", DC_UINT64},  {"real", DC_FLOAT32},   {"float", DC_FLOAT32},   {"real32", DC_FLOAT32},
      {"float32", DC_FLOAT32}, {"double", DC_FLOAT64}, {"real64", DC_FLOAT64}, {"float64", DC_FLOAT64}, {"char", DC_CHAR},
      {"character", DC_CHAR}};
  for (const auto& [name, type] : types) CHECK(type_of(name) == type);
}

TEST_CASE("a layout knows the size of its elements") {
  REQUIRE(model_of("<layout name='l' type='int16'/>").layouts[0].element_bytes == 2);
  REQUIRE(model_of("<layout name='l' type='double'/>").layouts[0].element_bytes == 8);
}

TEST_CASE("a compound type is laid out as the C compiler lays out the struct") {
  const Model model =
      model_of("<type name='body'>" + std::string(kFields) + "</type><layout name='l' type='body' dimensions='2'/>");
  const Compound& body = model.compounds.at(0);
  REQUIRE(body.size_bytes == sizeof(Body));
  REQUIRE(body.fields.size() == 4);
  REQUIRE(body.fields[0].offset_bytes == offsetof(Body, position));
  REQUIRE(body.fields[0].count == 3);
  REQUIRE(body.fields[1].offset_bytes == offsetof(Body, mass));
  REQUIRE(body.fields[2].offset_bytes == offsetof(Body, id));
  REQUIRE(body.fields[3].offset_bytes == offsetof(Body, kind));
  REQUIRE(body.fields[3].type == DC_CHAR);
  REQUIRE(model.layouts.at(0).type == DC_COMPOUND);
  REQUIRE(model.layouts[0].compound == 0);
  REQUIRE(resolve(model, model.layouts[0], {}).bytes == 2 * sizeof(Body));
}

TEST_CASE("padding between fields follows the alignment of each") {
  const Model model =
      model_of("<type name='t'><field name='a' type='char'/><field name='b' type='double'/><field name='c' type='short'/></type>");
  REQUIRE(model.compounds[0].fields[1].offset_bytes == 8);
  REQUIRE(model.compounds[0].fields[2].offset_bytes == 16);
  REQUIRE(model.compounds[0].size_bytes == 24);
}

TEST_CASE("a packed compound type has no padding") {
  const Model model = model_of("<type name='body' packed='true'>" + std::string(kFields) + "</type>");
  REQUIRE(model.compounds[0].size_bytes == 24 + 4 + 4 + 1);
  REQUIRE(model.compounds[0].fields[3].offset_bytes == 32);
}

TEST_CASE("a type may be declared after the layout that uses it") {
  REQUIRE(model_of("<layout name='l' type='t'/><type name='t'><field name='a' type='int8'/></type>").layouts[0].element_bytes == 1);
}

TEST_CASE("a compound type that is too large for the header of a dataset is refused if a file is to hold it") {
  const auto document = [](std::size_t name_length, const std::string& store, const std::string& storage) {
    std::string fields;
    for (int i = 0; i < 800; ++i) {
      const std::string number = std::to_string(1000 + i);
      fields += "<field name='" + std::string(name_length - number.size(), 'f') + number + "' type='double'/>";
    }
    return "<simulation><data><type name='many'>" + fields + "</type><layout name='l' type='many'/><variable name='v' layout='l'" +
           store + "/></data>" + storage + "</simulation>";
  };
  const std::string storage = "<storage><hdf5 basename='out'/></storage>";
  const auto is_valid = [](const std::string& text) { return damaris::config::parse(text, "x.xml").compounds.size() == 1; };
  CHECK(damaris::test::error_text(document(59, "", storage)) ==
        "x.xml:1:19: type 'many' needs 65608 bytes in the header of a dataset, where HDF5 has room for 65535; give it fewer fields "
        "or "
        "shorter names, make fields of one type an array with count, or set store=\"false\"");
  CHECK(is_valid(document(58, "", storage)));
  CHECK(is_valid(document(59, " store='false'", storage)));
  CHECK(is_valid(document(59, "", "")));
}
