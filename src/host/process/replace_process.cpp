// SPDX-License-Identifier: Apache-2.0
#include "host/process/replace_process.hpp"

#include <cerrno>
#include <unistd.h>

namespace autopilot::host {

Error replace_process(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(program.c_str(), argv.data());
  return fail_errno(errno, program).value();
}

}  // namespace autopilot::host
