// The arguments of a command: CLI11 with the words of this project for what it does not know.
// Used by: the main functions of damaris-check and damaris-server, one thread, first of all.
// Before it: the options that the command describes. After it: the command's work, or exit status 2.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "core/base/ascii.hpp"

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
inline void complain(const char* program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program, lines_without_controls(sentence).c_str());
}

}  // namespace damaris::tools
