// The common part of the main functions: parses arguments with CLI11, prints errors, returns the exit status.
// Used by: the main functions of the programs, one thread.
// Before it: the program's options. After it: the program's work, or exit status 2.
#pragma once

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/ascii.hpp"
#include "core/base/error.hpp"

namespace damaris::tools {

// Like app.parse(), but reports an unknown argument even if another one is missing: it may be the missing one, misspelt.
inline void parse(CLI::App& app, int argc, char** argv) {
  const auto unknown = [&app] {
    const std::vector<std::string> arguments = app.remaining();
    if (arguments.empty()) return;
    const std::string& first = arguments.front();
    throw CLI::ParseError((first[0] == '-' ? "no option '" : "one argument too many, '") + first + "'",
                          CLI::ExitCodes::ExtrasError);
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError&) {
    unknown();
    throw;
  } catch (const CLI::ExtrasError&) {
    unknown();
    throw;
  }
}

// Prints an error to standard error.
inline void print_error(const std::string& program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), lines_without_controls(sentence).c_str());
}

// Parses the arguments and runs `work`, which returns the exit status.
// Returns that status, 1 after an error, 2 after a wrong argument, 0 after --help and --version.
template <class Work>
int run_program(CLI::App& app, int argc, char** argv, Work&& work) {
  try {
    parse(app, argc, argv);
    const int status = work();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    print_error(app.get_name(), std::string("the report could not be written: ") + std::strerror(errno));
    return 1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    print_error(app.get_name(), std::string(error.what()) + "; see '" + app.get_name() + " --help'");
    return 2;
  } catch (const Error& error) {
    print_error(app.get_name(), error.what());
    return error.code() == DC_E_ARGUMENT ? 2 : 1;
  } catch (const std::exception& error) {
    print_error(app.get_name(), error.what());
    return 1;
  }
}

}  // namespace damaris::tools
