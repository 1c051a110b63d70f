#include "phases/record.hpp"

#include <unistd.h>

#include "core/base/error.hpp"
#include "core/base/json.hpp"

namespace damaris::bench {

Record::Record(const Options& options, int rank)
    : path_(options.results + "/rank" + std::to_string(rank) + ".jsonl"), file_(path_) {
  put(Json({{"rank", rank}, {"pid", ::getpid()}, {"way", options.way}}).dump());
}

void Record::add(const std::vector<PhaseTimes>& times, std::uint64_t bytes) {
  for (std::size_t phase = 0; phase < times.size(); ++phase) {
    const PhaseTimes& at = times[phase];
    put(Json({{"phase", phase},
              {"bytes", bytes},
              {"compute", {at.compute.begin, at.compute.end}},
              {"memcpy_s", at.memcpy_s},
              {"write", {at.write.begin, at.write.end}},
              {"cpu_s", at.cpu_s}})
            .dump());
  }
}

void Record::end() { put(Json({{"end", monotonic_s()}}).dump()); }

void Record::put(const std::string& line) {
  file_ << line << std::endl;  // the first line is read while the run goes on
  if (!file_) throw system_error(DC_E_IO, "cannot write " + path_, errno, "give --results a folder that can be written");
}

void tell_failure(const Options& options, int rank, const std::string& reason) {
  std::ofstream(options.results + "/rank" + std::to_string(rank) + ".failed") << reason << std::endl;
}

}  // namespace damaris::bench
