#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "support/temp_folder.hpp"
#include "unit/config/parse_text.hpp"

using Catch::Matchers::Contains;
using damaris::test::error_text;
using damaris::test::read_text;
using damaris::test::schema_files;

namespace {

// Listens on a port of this machine; tells whether anybody called.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_, 4) == 0);
    REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/x";
  }
  ~Listener() { ::close(socket_); }
  const std::string& url() const { return url_; }
  bool was_called() const {
    pollfd waiting = {socket_, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

 private:
  int socket_;
  std::string url_;
};

// Parses; any outcome but a model or a configuration error fails the test.
void survive(const std::string& text) {
  try {
    damaris::config::parse(text, "x.xml");
  } catch (const damaris::Error& error) {
    if (error.code() != DC_E_CONFIG) FAIL(error.sentence() << "\n" << text);
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("document types are refused in every form, before anything they name is looked at") {
  const damaris::test::TempFolder folder;
  const std::string secret = folder.write("secret", "the secret");
  for (const std::string& doctype :
       {std::string("<!DOCTYPE simulation>"), std::string("<!DOCTYPE simulation []>"),
        "<!DOCTYPE simulation SYSTEM \"" + secret + "\">", "<!DOCTYPE simulation [<!ENTITY x SYSTEM \"file://" + secret + "\">]>",
        "<?a b?><!-- <!x --> \n<!DOCTYPE simulation [<!ENTITY % x SYSTEM \"" + secret + "\"> %x;]>"}) {
    const std::string error = error_text(doctype + "<simulation name='&x;'/>");
    CHECK_THAT(error, Contains("a document type (<!DOCTYPE ...>) is refused"));
    CHECK_THAT(error, !Contains("the secret"));
  }
}

TEST_CASE("a billion laughs are refused at once") {
  std::string subset = "<!ENTITY a0 'ha'>";
  for (int i = 1; i < 40; ++i)
    subset += "<!ENTITY a" + std::to_string(i) + " '" + repeated("&a" + std::to_string(i - 1) + ";", 10) + "'>";
  REQUIRE_THAT(error_text("<!DOCTYPE simulation [" + subset + "]><simulation name='&a39;'/>"), Contains("is refused"));
}

TEST_CASE("nothing in a document makes the parser open a connection") {
  const Listener listener;
  const std::string xsi = " xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'";
  survive("<!DOCTYPE simulation SYSTEM '" + listener.url() + "'><simulation/>");
  survive("<!DOCTYPE simulation [<!ENTITY x SYSTEM '" + listener.url() + "'>]><simulation name='&x;'/>");
  survive("<?xml-model href='" + listener.url() + "'?><simulation/>");
  survive("<simulation xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='" + listener.url() + "'/></simulation>");
  survive("<simulation" + xsi + " xsi:schemaLocation='urn:x " + listener.url() + "'/>");
  survive("<simulation" + xsi + " xsi:noNamespaceSchemaLocation='" + listener.url() + "'><data/></simulation>");
  REQUIRE_FALSE(listener.was_called());
}

TEST_CASE("a schema named by the document for the sake of editors changes nothing") {
  const damaris::test::TempFolder folder;
  const std::string lax =
      folder.write("lax.xsd", "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='simulation'/></xs:schema>");
  const std::string head =
      "<simulation xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:noNamespaceSchemaLocation='" + lax + "'>";
  REQUIRE(damaris::config::parse(head + "</simulation>", "x.xml").simulation == "simulation");
  REQUIRE_THAT(error_text(head + "<anything/></simulation>"), Contains("<anything> is not known inside <simulation>"));
}

TEST_CASE("a type or nil of the instance namespace cannot get round the schema") {
  const std::string xsi = "<simulation xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>";
  REQUIRE_THAT(error_text(xsi + "<layout xsi:type='variable' name='l' layout='k'/></simulation>"), Contains("x.xml:1:"));
}

TEST_CASE("depth, breadth and size are bounded") {
  REQUIRE_THAT(error_text("<simulation>" + repeated("<data>", 200000)), Contains("elements are nested deeper than 64"));
  REQUIRE_THAT(error_text("<simulation>" + repeated("<layout/>", 50000) + "</simulation>"), Contains("more errors"));
  REQUIRE_THAT(error_text("<simulation>" + std::string(64 << 20, ' ') + "</simulation>"), Contains("larger than 64 MiB"));
  REQUIRE_THAT(error_text("<simulation>" + repeated("<parameter name='a' value='1'/>", 10001) + "</simulation>"),
               Contains("10001 parameters; at most 10000 are allowed"));
}

TEST_CASE("an element with more wrong attributes than are reported is named with its place") {
  std::string many;
  for (int i = 0; i < 3000; ++i) many += " a" + std::to_string(i) + "='1'";
  const std::string root = error_text("\n<simulation" + many + "/>"),
                    inner = error_text("<simulation>\n<data" + many + "/></simulation>");
  CHECK_THAT(root,
             Catch::Matchers::StartsWith("x.xml:2:") && Contains("'simulation'") && Contains("'a0'") && Contains("more errors"));
  CHECK_THAT(inner, Catch::Matchers::StartsWith("x.xml:2:") && Contains("'data'") && Contains("'a0'") && Contains("more errors"));
  for (const std::string& error : {root, inner}) CHECK_THAT(error, !Contains("outermost") && !Contains("<>"));
}

TEST_CASE("many layouts and variables are read in reasonable time") {
  std::string xml = "<simulation><parameter name='n' value='4'/>";
  for (int i = 0; i < 2000; ++i) xml += "<layout name='l" + std::to_string(i) + "' type='real' dimensions='n,n'/>";
  for (int i = 0; i < 20000; ++i) xml += "<variable name='v" + std::to_string(i) + "' layout='l" + std::to_string(i % 2000) + "'/>";
  REQUIRE(damaris::config::parse(xml + "</simulation>", "x.xml").variables.size() == 20000);
}

TEST_CASE("encodings: UTF-8 needs no declaration, others do, and any other bytes are reported with their place") {
  const std::string latin =
      "<simulation><layout name='l' type='real'/><variable name='v' layout='l' unit='\xb0"
      "C'/></simulation>";
  REQUIRE(damaris::config::parse("<?xml version='1.0' encoding='ISO-8859-1'?>" + latin, "x.xml").variables[0].unit ==
          "\xc2\xb0"
          "C");
  REQUIRE(error_text(latin).find("x.xml:1:79: this byte is not UTF-8; save the file as UTF-8, or declare its encoding") == 0);
  REQUIRE_THAT(error_text(std::string("\xff\xfe<\0s\0", 6)), Contains("it contains zero bytes"));
  REQUIRE_THAT(error_text("<?xml version='1.0' encoding='nonsense'?><simulation/>"), Contains("NONSENSE"));
}

TEST_CASE("no text at all, blanks, and text that is not XML are distinguished") {
  REQUIRE(error_text("") == "x.xml:1:1: it is empty; a configuration holds one <simulation> element");
  REQUIRE(error_text(" \n\t") == "x.xml:1:1: it is empty; a configuration holds one <simulation> element");
  REQUIRE_THAT(error_text("<?xml \xEF\xBB\xBF%- 2*nx\n"), Catch::Matchers::StartsWith("x.xml:1:1: this is not well-formed XML: "));
  REQUIRE_THAT(error_text("[simulation]"), Contains("this is not XML: it does not start with '<'"));
}

TEST_CASE("an example that is truncated anywhere is a model or a configuration error, nothing else") {
  const std::string text = read_text(schema_files("examples").front());
  for (std::size_t length = 0; length < text.size(); length += 17) survive(text.substr(0, length));
}

TEST_CASE("examples with random damage are models or configuration errors, nothing else") {
  std::mt19937 random(12345);
  const std::string pieces[] = {"<",
                                ">",
                                "\"",
                                "&",
                                "/",
                                "\n",
                                "=",
                                "<data>",
                                "</group>",
                                "-1",
                                "*",
                                "(",
                                "99999999999999999999",
                                "\xc3",
                                "<![CDATA[x]]>",
                                "<!--",
                                "&#0;"};
  for (const auto& file : schema_files("examples")) {
    const std::string text = read_text(file);
    for (int round = 0; round < 25; ++round) {
      std::string damaged = text;
      for (int hit = 0; hit < 2; ++hit)
        damaged.replace(random() % damaged.size(), random() % 6, pieces[random() % std::size(pieces)]);
      survive(damaged);
    }
  }
}
