// A program run to its end: exit status, what it printed, what it complained.
// Used by: tests of the commands, one thread.
// Before it: the built tree. After it: REQUIRE.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace damaris::test {

struct Run {
  int status = -1;  // exit status, or 128 + signal
  std::string out, err;
};

// `arguments[0]` is sought on PATH, which ctest lets begin with the built tree's bin. `folder` is the working directory.
inline Run run_program(const std::vector<std::string>& arguments, const std::string& folder = ".") {
  const TempFolder files;
  const std::string out = files.file("out"), err = files.file("err");
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int to_out = ::open(out.c_str(), O_CREAT | O_WRONLY, 0600), to_err = ::open(err.c_str(), O_CREAT | O_WRONLY, 0600);
    if (::chdir(folder.c_str()) != 0 || ::dup2(to_out, 1) < 0 || ::dup2(to_err, 2) < 0) ::_exit(126);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto text = [](const std::string& file) {
    std::stringstream content;
    content << std::ifstream(file, std::ios::binary).rdbuf();
    return content.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text(out), text(err)};
}

}  // namespace damaris::test
