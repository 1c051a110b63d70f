// The command line of a program: its options and their help, and the common part of the main functions. Only its source includes CLI11,
// which takes the compiler longer than a whole program of ours.
// Used by: the main functions of the programs and of damaris-bench, one thread.
// Before it: the program's options. After it: the program's work, or exit status 2.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace damaris::tools {

// Prints an error to standard error.
void print_error(const std::string& program, const std::string& sentence);

// Thrown by a program's work about an argument that only the work could find wrong.
struct WrongUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option of a command line, to say more about it. Owns: nothing; the command line has the option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option required();
  Option repeatable();                         // one value each time
  Option hidden();                             // from --help
  Option type_name(const std::string& shown);  // what --help calls its value
  Option range(int low, int high);
  Option shown_range(int low, int high);  // --help shows it too
  Option existing_file();
  Option existing_folder();
  Option check(const std::function<std::string(const std::string&)>& complaint);  // returns "" about a good value

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);

  // The value, which must outlive the command line, stays as it is where the option is not given.
  Option add_option(const std::string& names, std::string& value, const std::string& help);
  Option add_option(const std::string& names, int& value, const std::string& help);
  Option add_option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help);
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  void add_version(const std::string& shown);
  void footer(const std::string& text);

  // With subcommands, exactly one must be given.
  CommandLine add_subcommand(const std::string& name, const std::string& help);
  bool got_subcommand(const std::string& name) const;

  // Parses the arguments and runs `work`, which returns the exit status.
  // Returns that status, 1 after an error, 2 after a wrong argument, 0 after --help and --version.
  int run(int argc, char** argv, const std::function<int()>& work);
  // Only parses them. Returns the exit status if the program should end: 2 after a wrong argument, 0 after --help.
  std::optional<int> parse(int argc, char** argv);

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

  std::shared_ptr<CLI::App> app_;
};

}  // namespace damaris::tools
