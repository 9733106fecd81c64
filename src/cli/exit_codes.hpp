// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

// The exit codes of all verbs: one table for the program, --help, the man pages and
// docs/reference/exit-codes.md.
namespace autopilot::cli {

inline constexpr int kExitHealthy = 0;
inline constexpr int kExitDegraded = 1;
inline constexpr int kExitFailed = 2;
inline constexpr int kExitUnknown = 3;
inline constexpr int kExitNoCause = 4;  // of `why`: nothing explains what happened
inline constexpr int kExitUsage = 64;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitConfiguration = 78;
inline constexpr int kExitInterrupted = 130;  // of `demo`: Ctrl-C ended it

struct ExitCode {
  int code = 0;
  std::string_view meaning;
};

// Every code with its general meaning, ascending.
[[nodiscard]] std::span<const ExitCode> exit_codes();

// The codes of one verb and what they mean there, ascending. `verb`: "check", "jobs replay", "kubectl
// autopilot status". A verb without an entry of its own has the codes of a verb that only does or prints
// something.
[[nodiscard]] std::span<const ExitCode> exit_codes_of(std::string_view verb);

// "Exit status: 0 healthy; 1 degraded; ..." of the verb, for --help. One line.
[[nodiscard]] std::string exit_status_text(std::string_view verb);
// The same of all codes, for the help of the program.
[[nodiscard]] std::string exit_status_text();

// docs/reference/exit-codes.md, without its first line.
[[nodiscard]] std::string exit_codes_page();

}  // namespace autopilot::cli
