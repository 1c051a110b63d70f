// The frame of a program's main function: its arguments by CLI11, its errors as sentences, its exit status.
// Used by: the main functions of the programs, one thread, first of all.
// Before it: the options that the program describes. After it: the program's work, or exit status 2.
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

// As app.parse(), but an unknown argument is named even where another one is missing: it may be the same, misspelt.
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

// Why a program could not do its work.
inline void print_error(const std::string& program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), lines_without_controls(sentence).c_str());
}

// Parses the arguments into what `app` was given and runs `work`, which returns the exit status.
// Returns that, 1 after an error, 2 after a wrong argument; 0 after --help and --version.
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
