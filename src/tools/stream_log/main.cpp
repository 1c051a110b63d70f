// damaris-stream-log: lists the streams of a run's logs, or writes the bytes of some to standard output.
// Used by: users and job scripts, during or after a run, without a server.
// Before it: the files of logs (src/logs). After it: the bytes of each stream, in the order in which they were appended.
#include <damaris/version.h>
#include <unistd.h>
#include <damaris/error.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "logs/reader.hpp"
#include "tools/command_line.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string run, log;
  std::optional<std::int64_t> stream;
  bool list = false;
};

void write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(DC_E_IO, format("standard output cannot be written: {}", text_of_errno(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string state_of(const logs::Index& index) {
  if (index.ended()) return "ended";
  return index.torn_bytes > 0 ? format("not ended, {} torn bytes at the end of the index are cut", index.torn_bytes) : "not ended";
}

// Names come from files that other users may have written.
void list(const logs::Reader& reader) {
  const logs::Index& index = reader.index();
  std::printf("%s\n",
              without_controls(format("log '{}' of server {} on {}: {} streams in {} files, {}", index.log(), index.header.server,
                                      index.host(), reader.streams().size(), index.header.files, state_of(index)))
                  .c_str());
  for (const auto& [number, stream] : reader.streams())
    std::printf("  stream %-6lld %12llu bytes in %zu pieces, file %u\n", static_cast<long long>(number),
                static_cast<unsigned long long>(stream.bytes), stream.pieces.size(), stream.file);
  for (const logs::Hole& hole : reader.holes())
    std::printf("  hole   %12llu bytes at %llu of %s, left by a client that died\n",
                static_cast<unsigned long long>(hole.place.bytes), static_cast<unsigned long long>(hole.place.offset),
                without_controls(hole.file).c_str());
}

void require_one_log(const std::vector<logs::Reader>& readers) {
  std::set<std::string> names;
  for (const logs::Reader& reader : readers) names.insert(reader.index().log());
  if (names.size() > 1)
    throw tools::WrongUsage(format("the run has {} logs; name one with --log: {}", names.size(), join(names, ", ")));
}

int run(const Options& options) {
  const std::vector<logs::Reader> readers = logs::Reader::find(options.run, options.log);
  if (options.list) {
    for (const logs::Reader& reader : readers) list(reader);
    return 0;
  }
  require_one_log(readers);
  bool any = false;
  for (const logs::Reader& reader : readers)
    for (const auto& [number, stream] : reader.streams()) {
      if (options.stream && number != *options.stream) continue;
      any = true;
      reader.read(number, write_out);
    }
  if (!any && options.stream)
    throw Error(DC_E_NOT_STORED,
                format("log '{}' has no stream {}; --list names its streams", readers.front().index().log(), *options.stream));
  return 0;
}

void describe(tools::CommandLine& command, Options& options) {
  command.add_option("RUN", options.run, "The basename of <hdf5>, the .jsonl beside the files, or their folder")
      .required()
      .type_name("");
  command.add_option("--log", options.log, "This log; needed where the run has several").type_name("NAME");
  command.add_option("--stream", options.stream, "Only this stream; else all, one after the other").type_name("N");
  command.add_flag("--list", options.list, "Only say which streams there are, and which holes");
  command.add_version("damaris " DAMARIS_VERSION);
  command.footer("Exit status: 0 written, 1 there is none, or bytes are damaged, 2 wrong usage.\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  tools::CommandLine command("Writes what clients have appended to a log, stream by stream, to standard output.",
                             "damaris stream-log");
  describe(command, options);
  return command.run(argc, argv, [&] { return run(options); });
}
