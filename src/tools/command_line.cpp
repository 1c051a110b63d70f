#include "tools/command_line.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace damaris::tools {

namespace {

// Like app.parse(), but reports an unknown argument even if another one is missing: it may be the missing one, misspelt.
void parse_or_name_unknown(CLI::App& app, int argc, char** argv) {
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

int refuse(const std::string& program, const std::string& sentence) {
  print_error(program, sentence + "; see '" + program + " --help'");
  return 2;
}

}  // namespace

void print_error(const std::string& program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), lines_without_controls(sentence).c_str());
}

Option Option::required() { return Option(*option_->required()); }
Option Option::repeatable() { return Option(*option_->expected(1)->take_all()); }
Option Option::hidden() { return Option(*option_->group("")); }
Option Option::type_name(const std::string& shown) { return Option(*option_->type_name(shown)); }
Option Option::range(int low, int high) { return Option(*option_->check(CLI::Range(low, high).description(""))); }
Option Option::shown_range(int low, int high) { return Option(*option_->check(CLI::Range(low, high))); }
Option Option::existing_file() { return Option(*option_->check(CLI::ExistingFile)); }
Option Option::existing_folder() { return Option(*option_->check(CLI::ExistingDirectory)); }
Option Option::check(const std::function<std::string(const std::string&)>& complaint) { return Option(*option_->check(complaint)); }

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_shared<CLI::App>(description, name)) {}

Option CommandLine::add_option(const std::string& names, std::string& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}
Option CommandLine::add_option(const std::string& names, int& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}
Option CommandLine::add_option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}
Option CommandLine::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Option(*app_->add_option(names, values, help));
}
void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) { app_->add_flag(name, value, help); }
void CommandLine::add_version(const std::string& shown) { app_->set_version_flag("--version", shown); }
void CommandLine::footer(const std::string& text) { app_->footer(text); }

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  app_->require_subcommand(1);
  return CommandLine(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, help)));  // owned by the whole command line
}
bool CommandLine::got_subcommand(const std::string& name) const { return app_->got_subcommand(name); }

int CommandLine::run(int argc, char** argv, const std::function<int()>& work) {
  const std::string program = app_->get_name();
  try {
    parse_or_name_unknown(*app_, argc, argv);
    const int status = work();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    print_error(program, std::string("the report could not be written: ") + std::strerror(errno));
    return 1;
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app_->exit(error) : refuse(program, error.what());
  } catch (const WrongUsage& error) {
    return refuse(program, error.what());
  } catch (const Error& error) {
    print_error(program, error.what());
    return error.code() == DC_E_ARGUMENT ? 2 : 1;
  } catch (const std::exception& error) {
    print_error(program, error.what());
    return 1;
  }
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
}

}  // namespace damaris::tools
