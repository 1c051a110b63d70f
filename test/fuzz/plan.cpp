// Plans of a replay, as an editor or another program may have left them.
#include <damaris/error.hpp>

#include <algorithm>

#include "fuzz.hpp"
#include "replay/evaluate.hpp"
#include "replay/reader.hpp"

using namespace damaris;
using fuzz::require;

namespace {

void check_plan(const replay::Plan& plan) {
  for (const replay::File& one : plan.files) {
    const std::string framed = "/" + one.name + "/";
    require(one.name.find('\0') == std::string::npos && framed.find("/../") == std::string::npos &&
                framed.find("//") == std::string::npos,
            "a name stays in its folder", one.name);
  }
  plan.bytes_needed();
  const replay::Times times = replay::evaluate(plan);
  require(times.ends.empty() || times.total == *std::max_element(times.ends.begin(), times.ends.end()),
          "the total is that of the last process");
  replay::for_each_time(plan, times, nullptr, [&](std::uint32_t i, std::uint64_t begin, std::uint64_t end) {
    require(begin <= end && end <= times.total, "operations end within the total", plan.text_of(i));
  });
  require(replay::crowded_share(plan, times, 1) <= 1, "a share is at most the whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check_plan(replay::read_plan({reinterpret_cast<const char*>(data), size}, "plan"));
  } catch (const Error& error) {
    require(error.code() == DC_E_CONFIG && error.sentence().find("plan:") == 0, "a wrong plan is refused with its line",
            error.sentence());
  }
  return 0;
}
