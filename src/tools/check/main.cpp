// damaris-check: parses a configuration as the servers do, and prints its errors or its meaning. No MPI, no region, no plugin code unless
// requested.
// Used by: users before they start a job, and job scripts.
// Before it: the XML. After it: text or JSON on standard output, errors on standard error.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <damaris/version.h>

#include "config/advice.hpp"
#include "config/config.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "tools/check/plugins.hpp"
#include "tools/check/report.hpp"
#include "tools/check/text_table.hpp"
#include "tools/command_line.hpp"

namespace {

using namespace damaris;

struct Options {
  std::string file;
  int steps = 2;
  int clients = 0;
  std::vector<std::string> settings;
  bool json = false;
  bool load_plugins = false;
};

// Another user may have written the configuration, so control characters are removed.
void print(std::FILE* stream, const std::string& given) {
  const std::string text = damaris::lines_without_controls(given);
  std::fwrite(text.data(), 1, text.size(), stream);
}

// Wraps lines on a terminal only: programs that read a file or a pipe get whole lines.
void print_error(const std::string& kind, const std::string& text) {
  winsize size = {};
  const bool terminal = ::isatty(STDERR_FILENO) != 0 && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40;
  std::fflush(stdout);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = kind + line;
    print(stderr, (terminal ? check::wrapped(line, size.ws_col, 4) : line) + "\n");
  }
}

int check_file(const Options& options) {
  auto model = std::make_shared<model::Model>(config::parse(read_config_file(options.file), options.file));
  check::set_parameters(*model, options.settings);
  const check::Sizes sizes = check::measure(*model, options.steps, options.clients);
  const std::string wrong = check::shortage(*model, sizes);
  std::vector<std::string> warnings = config::warnings(*model);
  std::vector<check::Row> loaded;
  if (options.load_plugins)
    loaded = check::load_plugins(model);
  else
    for (std::string& sentence : check::missing_plugins(*model)) warnings.push_back(std::move(sentence));
  if (options.json) {
    print(stdout, check::json_report(*model, sizes, warnings));
    return wrong.empty() ? 0 : 1;
  }
  print(stdout, check::text_report(*model, sizes));
  if (!loaded.empty()) print(stdout, "\nLoaded\n" + check::table({}, loaded));
  for (const std::string& warning : warnings) print_error("warning: ", warning);
  if (!wrong.empty()) print_error("", wrong);
  print(stdout, format("\n{} is {}valid.\n", options.file, wrong.empty() ? "" : "not "));
  return wrong.empty() ? 0 : 1;
}

int run(const Options& options) {
  try {
    return check_file(options);
  } catch (const Error& error) {
    if (error.code() == DC_E_ARGUMENT) throw tools::WrongUsage(error.sentence());
    if (options.json)
      print(stdout, check::json_failure(options.file, error.sentence()));
    else
      print_error("", error.sentence());
    return 1;
  }
}

// The options and their help.
void describe(tools::CommandLine& command, Options& options) {
  command.add_option("FILE", options.file, "The XML file").required().type_name("");
  command.add_option("-k,--steps", options.steps, "Steps the buffer shall hold (default: 2)").range(1, 1'000'000).type_name("K");
  command.add_option("-c,--clients", options.clients, "Clients per server, if the XML does not say")
      .range(1, 1 << 20)
      .type_name("N");
  command.add_option("-s,--set", options.settings, "Value of a parameter the program sets (repeatable)")
      .type_name("NAME=N")
      .repeatable();
  command.add_flag("--json", options.json, "Print JSON");
  command.add_flag("--load-plugins", options.load_plugins, "Load the plugins too: runs their start-up code");
  command.add_version("damaris " DAMARIS_VERSION);
  command.footer("Exit status: 0 the configuration is valid, 1 it is not, 2 wrong usage.\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  tools::CommandLine command(
      "Checks a configuration without MPI, and shows what it means: the model, the\nbytes per client and step, and the buffer "
      "it needs.",
      "damaris check");
  describe(command, options);
  return command.run(argc, argv, [&] { return run(options); });
}
