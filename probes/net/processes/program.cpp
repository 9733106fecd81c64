// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/program.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

// The shells' exit code for a program that cannot be started.
constexpr int kNotStarted = 126;

bool is_program(const std::string& file) {
  struct stat facts {};
  return ::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

[[noreturn]] void become(const std::string& file, std::vector<std::string> arguments, int output) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(output, stream) != stream) ::_exit(kNotStarted);
  std::vector<char*> words;
  for (std::string& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  ::execv(file.c_str(), words.data());
  const std::string text = file + " cannot be started: " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(kNotStarted);
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    // Relative folders are skipped: a program of the current directory is not an installed one.
    if (!folder.starts_with('/')) continue;
    std::string file = std::string(folder) + "/" + name;
    if (is_program(file)) return file;
  }
  return std::nullopt;
}

Work work_of_program(std::string file, std::vector<std::string> arguments) {
  return [file = std::move(file), arguments = std::move(arguments)](int output) {
    become(file, arguments, output);
  };
}

}  // namespace autopilot::probes::net
