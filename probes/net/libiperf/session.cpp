// SPDX-License-Identifier: Apache-2.0
#include "probes/net/libiperf/session.hpp"

#include <cerrno>
#include <cstdlib>
#include <getopt.h>
#include <unistd.h>
#include <utility>

namespace autopilot::probes::net {

Session::Session(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), test_(::iperf_new_test()) {
  if (!test_ || ::iperf_defaults(test_.get()) != 0) return;
  std::vector<char*> words;
  for (std::string& argument : arguments_)
    words.push_back(argument.data());
  words.push_back(nullptr);
  // Resets the parser of the C library for a new list.
  optind = 0;
  i_errno = IENONE;
  is_ready_ = ::iperf_parse_arguments(test_.get(), static_cast<int>(words.size()) - 1, words.data()) == 0;
}

std::string Session::json() const {
  const char* text = test_ ? ::iperf_get_test_json_output_string(test_.get()) : nullptr;
  return text == nullptr ? std::string() : std::string(text);
}

void use_scratch_in_memory() {
  constexpr const char* kMemory = "/dev/shm";
  if (std::getenv("TMPDIR") == nullptr && ::access(kMemory, W_OK | X_OK) == 0) ::setenv("TMPDIR", kMemory, 1);
}

void write_all(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(output, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace autopilot::probes::net
