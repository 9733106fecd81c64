// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace autopilot::host {

// How a process was started, as far as it matters for jobs. The user of the process writes both sources, so
// that each value is untrusted: at most kLongestValue printable ASCII characters, not checked further.
struct Launch {
  static constexpr std::size_t kEnvironmentBytes = std::size_t{64} * 1024;  // read of each process
  static constexpr std::size_t kArgumentBytes = std::size_t{16} * 1024;
  static constexpr std::size_t kLongestValue = 256;

  using Values = std::map<std::string, std::string, std::less<>>;

  Values environment;  // names of environment_names() only
  Values arguments;    // "--tensor-model-parallel-size": names of argument_names() only
  // "vllm", "triton", "tgi" or "sglang": the inference server that the command line starts. Or empty.
  std::string server;
  // The command line starts ranks: torchrun, mpirun and the like.
  bool is_launcher = false;
  // The environment is longer than kEnvironmentBytes: variables behind them are missing.
  bool is_cut = false;

  // Empty: not set.
  [[nodiscard]] std::string_view variable(std::string_view name) const;
  [[nodiscard]] std::string_view argument(std::string_view name) const;

  friend bool operator==(const Launch&, const Launch&) = default;
};

// The only variables and arguments that are kept, in alphabetical order. All others may be secrets.
[[nodiscard]] std::span<const std::string_view> environment_names();
[[nodiscard]] std::span<const std::string_view> argument_names();

// Adds what the text of /proc/<pid>/environ states: "NAME=value" and a NUL, repeated. The first value of a
// name counts, as for getenv(3). A value that is too long or not printable is left out.
void parse_environment(std::string_view text, Launch& launch);
// Adds what the text of /proc/<pid>/cmdline states: "--name=value", or "--name" and "value" as two arguments.
// The last value of a name counts.
void parse_arguments(std::string_view text, Launch& launch);
// True for the name of a program that starts ranks, as the kernel shows it: "torchrun", "orted",
// "slurmstepd".
[[nodiscard]] bool is_launcher_name(std::string_view name);

}  // namespace autopilot::host
