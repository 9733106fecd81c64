// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/migrate/script/script.hpp"

// The commands of a shell script, as far as a migration needs them: words with their places, so that a word
// can be replaced without changing anything else. Not a complete grammar; text that is not understood stays
// as it is.
namespace autopilot::workloads::migrate {

struct ShellWord {
  std::string value;      // without quotes; references such as $N stay
  std::size_t begin = 0;  // in the text of the line
  std::size_t end = 0;
  bool is_operator = false;  // ; && || | & ( ) or a redirection
};

// A command with its continuation lines and open quotes.
struct ShellLine {
  int number = 0;        // of the first line in the script
  std::string text;      // without the last line end
  bool is_text = false;  // of a here-document
};

struct ShellCommand {
  std::size_t line = 0;                // index in ShellScript::lines
  int number = 0;                      // line of the script where the command begins
  std::vector<ShellWord> assignments;  // NAME=value before the program
  std::vector<ShellWord> words;        // the program and its arguments, without redirections
  std::string output_file;             // behind > or >>
  bool is_background = false;
  bool is_nested = false;  // in $(...), backquotes or behind bash -c
};

struct ShellScript {
  std::vector<ShellLine> lines;
  std::vector<ShellCommand> commands;
};

inline constexpr std::size_t kMaxJoinedLines = 400;  // of one command
inline constexpr std::size_t kMaxShellCommands = 100'000;

[[nodiscard]] ShellScript read_shell(const std::vector<ScriptLine>& body);

// The last part of a path: "python3" of "/usr/bin/python3".
[[nodiscard]] std::string_view base_name(std::string_view path);
[[nodiscard]] bool is_shell_name(std::string_view text);
// Names of variables that the text reads: $N, ${N}, ${N:-1}; also names in $((N*2)).
[[nodiscard]] std::vector<std::string> variables_in(std::string_view text);

}  // namespace autopilot::workloads::migrate
