// A simulation with floating-point traps, another rounding mode and a locale that writes 0,125, in place: all work is done in its process.
// What is stored is right, and the program finds everything as it had set it.
#include <damaris/damaris.h>

#include <fenv.h>
#include <catch2/catch.hpp>

#include <cfenv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <locale>
#include <string>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

constexpr double kBound = 0.1;
constexpr std::size_t kCount = 1000;

// A simulation built for debugging, with -ffpe-trap or as interval arithmetic; it has divided by zero before.
class Wild {
 public:
  Wild() {
    std::fegetenv(&before_);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_UNDERFLOW);
    std::fesetround(FE_UPWARD);
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero: what -ffast-math does at start-up
#endif
    ::feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  }
  ~Wild() { std::fesetenv(&before_); }
  Wild(const Wild&) = delete;
  Wild& operator=(const Wild&) = delete;

 private:
  std::fenv_t before_;
};

struct Modes {
  int round = std::fegetround(), traps = ::fegetexcept(), flags = std::fetestexcept(FE_ALL_EXCEPT);
  bool operator==(const Modes& other) const { return round == other.round && traps == other.traps && flags == other.flags; }
};

// Commas and separators of thousands, in C++'s streams and, where the machine can make one, in C.
class German {
 public:
  explicit German(const TempFolder& folder) : before_(std::locale()) {
    std::locale::global(std::locale(std::locale::classic(), new Punctuation));
    const std::string made = folder.file("de_DE.UTF-8");
    is_c_ = std::system(("localedef -i de_DE -f UTF-8 '" + made + "' > /dev/null 2>&1").c_str()) == 0;
    ::setenv("LOCPATH", folder.path().c_str(), 1);
    is_c_ = is_c_ && std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  }
  ~German() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
  }
  German(const German&) = delete;
  German& operator=(const German&) = delete;
  bool is_c() const { return is_c_; }

 private:
  struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
  bool is_c_ = false;
};

std::string configuration(const TempFolder& folder, const std::string& more) {
  return folder.write(
      "environment.xml",
      "<simulation name='environment'><architecture><dedicated cores='0'/><buffer size='1.5 MiB' "
      "timeout='1.5s'/></architecture><data>"
      "<layout name='list' type='double' dimensions='" +
          std::to_string(kCount) + "' global='" + std::to_string(2 * kCount) +
          "'/><variable name='rounded' layout='list' reduce='absolute:0.1,deflate'/>"
          "<variable name='narrow' layout='list' reduce='float16'/><variable name='small' layout='list' reduce='absolute:1e-320'/>"
          "<variable name='exact' layout='list'/></data><storage><hdf5 threads='3' basename='" +
          folder.file("run") + "' " + more + "/></storage></simulation>");
}

std::vector<double> values() {
  std::vector<double> all(kCount);
  for (std::size_t i = 0; i < kCount; ++i) all[i] = 12345.678 * std::sin(static_cast<double>(i));
  all[7] = std::numeric_limits<double>::quiet_NaN();
  return all;
}

int store(const TempFolder& folder, const std::vector<double>& given, const std::vector<double>& small, std::string& changed) {
  const std::string config = configuration(folder, "");
  const Wild wild;
  const Modes before;
  const auto look = [&](const std::string& call) {
    if (changed.empty() && !(Modes() == before)) changed = call;
  };
  if (const int code = dc_initialize(config.c_str(), 0); code != DC_OK) return code;
  look("dc_initialize");
  const std::int64_t offset = 0;
  for (const char* name : {"rounded", "narrow", "small", "exact"})
    if (const int code = dc_set_position(name, 1, &offset); code != DC_OK) return code;
  look("dc_set_position");
  for (int step = 0; step < 2; ++step) {
    if (const int code = dc_set_time(step, 0.125 + 1000 * step); code != DC_OK) return code;
    look("dc_set_time");
    for (const char* name : {"rounded", "narrow", "exact"})
      if (const int code = dc_write(name, step, given.data()); code != DC_OK) return code;
    if (const int code = dc_write("small", step, small.data()); code != DC_OK) return code;
    look("dc_write");
    if (const int code = dc_end_iteration(step); code != DC_OK) return code;
    look("dc_end_iteration");
  }
  const int code = dc_finalize();
  look("dc_finalize");
  return code;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE(
    "traps, rounding, denormals and locale of the simulation change nothing of what is stored, and are as they were afterwards") {
  const TempFolder folder;
  const std::vector<double> given = values();
  std::vector<double> small(kCount);
  for (std::size_t i = 0; i < kCount; ++i) small[i] = static_cast<double>(i) * 1e-319;
  const German german(folder);
  if (!german.is_c()) WARN("without a German locale of C: localedef or its data (package locales) is not there");
  std::string changed;  // by which call
  const int code = store(folder, given, small, changed);
  INFO(dc_last_error());
  REQUIRE(code == DC_OK);
  CHECK(changed == "");

  CHECK(text_of(folder.file("run.xmf")).find("<Time Value=\"0.125\"/>") != std::string::npos);
  CHECK(text_of(folder.file("run.xmf")).find("<Time Value=\"1000.125\"/>") != std::string::npos);
  CHECK(text_of(folder.file("run.jsonl")).find("\"time\":1000.125") != std::string::npos);
  REQUIRE(dc_initialize(configuration(folder, "exists='append' restart='" + folder.file("run") + "'").c_str(), 0) == DC_OK);
  const std::int64_t offset = 0;
  std::vector<double> stored(kCount);
  for (const char* name : {"rounded", "small", "exact"}) REQUIRE(dc_set_position(name, 1, &offset) == DC_OK);
  REQUIRE(dc_read("rounded", 1, stored.data()) == DC_OK);
  for (std::size_t i = 0; i < kCount; ++i)
    if (i != 7) CHECK(std::fabs(stored[i] - given[i]) <= kBound);
  CHECK(std::isnan(stored[7]));
  REQUIRE(dc_read("exact", 1, stored.data()) == DC_OK);
  for (std::size_t i = 0; i < kCount; ++i)
    if (i != 7) CHECK(stored[i] == given[i]);
  REQUIRE(dc_read("small", 1, stored.data()) == DC_OK);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(stored[i] == small[i]);
  CHECK(dc_finalize() == DC_OK);
}
