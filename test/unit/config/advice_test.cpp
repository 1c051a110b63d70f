#include "config/advice.hpp"

#include <catch2/catch.hpp>

#include "unit/config/parse_text.hpp"

using namespace damaris;
using Catch::Matchers::Contains;
using test::error_inside;
using test::model_of;

namespace {

constexpr char kArray[] =
    "<layout name='l' type='real' dimensions='1024,256'/><variable name='v' layout='l'/><variable name='w' "
    "layout='l'/><storage><hdf5/></storage>";

std::string buffer(const std::string& attributes, const std::string& more = "") {
  return "<architecture><buffer " + attributes + "/>" + more + "</architecture>";
}

}  // namespace

TEST_CASE("a fixed dataset larger than its client's share of the buffer can never be written: an error") {
  REQUIRE_THAT(
      error_inside(buffer("size='2MiB'", "<clients count='4'/>") + kArray),
      Contains("variable 'v' has 1 MiB, but one of 4 clients gets 512 KiB of the buffer; give <buffer size=\"...\"> more"));
  REQUIRE_THAT(error_inside(buffer("size='2MiB'", "<clients count='2' threads='2'/>") + kArray),
               Contains("one of 2 clients with 2 threads gets 512 KiB"));
  REQUIRE_THAT(error_inside(buffer("size='3MiB' split='weighted' weights='4,1'", "<clients count='2'/>") + kArray),
               Contains("gets 612 KiB"));
}

TEST_CASE("the header counts with the lists that the layout gives it: a line for one dimension, two for three in a global array") {
  const auto error = [](const std::string& shape) {
    const std::string data = "<layout name='l' type='uint8' " + shape + "/><variable name='v' layout='l'/>";
    return error_inside(buffer("size='64KiB'", "<clients count='1'/>") + data);
  };
  REQUIRE_THAT(error("dimensions='65473'"), Contains("variable 'v' has 63.9 KiB"));
  REQUIRE_THAT(error("dimensions='1,1,65409' global='1,1,65409'"), Contains("variable 'v' has 63.9 KiB"));
  for (const std::string fits : {"dimensions='65472'", "dimensions='1,1,65408' global='1,1,65408'"})
    REQUIRE_NOTHROW(model_of(buffer("size='64KiB'", "<clients count='1'/>") + "<data><layout name='l' type='uint8' " + fits +
                             "/><variable name='v' layout='l'/></data>"));
}

TEST_CASE("a step of all variables that does not fit is a warning, since a program need not write all of them at once") {
  const auto told = config::warnings(model_of(buffer("size='4MiB'", "<clients count='3'/>") + kArray));
  REQUIRE(told.size() == 1);
  REQUIRE_THAT(told[0], Contains("a step of all variables has 2 MiB per client, but one of 3 clients gets 1.3 MiB"));
}

TEST_CASE("a warning says when what is recovered at the start would be overwritten") {
  const auto told = [](const std::string& exists) {
    return config::warnings(model_of("<architecture><buffer stale='recover'/></architecture><data/>" +
                                     std::string("<storage><hdf5 basename='x' exists='") + exists + "'/></storage>"));
  };
  REQUIRE(told("append").empty());
  REQUIRE(told("overwrite").size() == 1);
  REQUIRE(config::warnings(
              model_of("<architecture><buffer stale='recover'/></architecture><data/><storage><hdf5 basename='x'/></storage>"))
              .size() == 1);
  for (const std::string exists : {"overwrite", "auto"})
    REQUIRE_THAT(told(exists)[0], Contains("exists=\"" + exists + "\" of <hdf5>") && Contains("use exists=\"append\" to keep it"));
}

TEST_CASE("without a number of clients, and with enough room, there is nothing to say of the buffer") {
  REQUIRE(config::warnings(model_of(buffer("size='64KiB'") + kArray)).empty());
  REQUIRE(config::warnings(model_of(buffer("size='64MiB'", "<clients count='4'/>") + kArray)).empty());
}

TEST_CASE("a dataset whose size the program may change is not an error") {
  const std::string xml =
      buffer("size='64KiB'", "<clients count='1'/>") +
      "<parameter name='n' value='1000000'/><layout name='l' type='real' dimensions='n'/><variable name='v' layout='l'/>";
  const model::Model model = model_of(xml);
  REQUIRE_FALSE(config::is_fixed(model, model.layouts[0]));
}

TEST_CASE("a layout is fixed when all it uses is, through computed parameters too") {
  const model::Model model = model_of(
      "<parameter name='c' value='2' constant='true'/><parameter name='v' value='2'/><parameter name='cc' value='c*2'/><parameter "
      "name='vv' value='v*2'/>"
      "<layout name='a' type='real' dimensions='cc,4'/><layout name='b' type='real' dimensions='4,vv'/>");
  REQUIRE(config::is_fixed(model, model.layouts[0]));
  REQUIRE_FALSE(config::is_fixed(model, model.layouts[1]));
}

TEST_CASE("no storage causes a warning") {
  const auto told = config::warnings(model_of(""));
  REQUIRE(told.size() == 1);
  REQUIRE_THAT(told[0], Contains("no <storage>"));
}

TEST_CASE("clients are shared by the servers of a node; without dedicated cores each is alone") {
  REQUIRE(config::clients_per_server(model_of("<architecture><dedicated cores='2'/><clients count='7'/></architecture>")) == 4);
  REQUIRE(config::clients_per_server(model_of("<architecture><dedicated cores='0'/><clients count='7'/></architecture>")) == 1);
  REQUIRE(config::clients_per_server(model_of("")) == 0);
}
