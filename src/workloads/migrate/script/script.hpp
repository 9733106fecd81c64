// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/word_table.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

enum class Scheduler : std::uint8_t { lsf, slurm };

inline constexpr WordTable<Scheduler, 2> kSchedulers{{{Scheduler::lsf, "lsf"}, {Scheduler::slurm, "slurm"}}};

// "LSF" or "Slurm", for messages.
[[nodiscard]] std::string_view title_of(Scheduler scheduler);

// One word of a directive or of a submit command.
struct OptionWord {
  std::string text;      // without quotes
  int line = 0;          // of the script; 0: of the command line
  std::size_t part = 0;  // of a heterogeneous job of Slurm
  bool begins = false;   // the first word of its line
};

struct ScriptLine {
  int number = 0;
  std::string text;
};

// A job script, split as its scheduler reads it.
struct Script {
  Scheduler scheduler = Scheduler::lsf;
  std::string shebang;                 // without "#!"; empty: the script has none
  std::vector<OptionWord> words;       // of all directives in effect, in order
  std::vector<ScriptLine> directives;  // their lines, unchanged
  std::vector<ScriptLine> body;        // all other lines after the shebang, in order
  std::size_t parts = 1;               // of a heterogeneous job
};

inline constexpr std::size_t kMaxScriptBytes = std::size_t{4} << 20;

// Reads as `bsub < script` and `sbatch script` do: LSF honours #BSUB lines anywhere, Slurm #SBATCH lines up
// to the first command. Comments such as "##SBATCH" and "# BSUB" are not directives. Accepts CRLF, a byte
// order mark, and text that is not UTF-8, of which invalid bytes become U+FFFD. `scheduler`: nullopt chooses
// by the directives. Errors: malformed for binary data and if the scheduler is unknown, exhausted above
// kMaxScriptBytes; the text has no file name.
[[nodiscard]] Result<Script> read_script(std::string_view text, std::optional<Scheduler> scheduler,
                                         Findings& findings);

// The words of the text after "#BSUB" or "#SBATCH": quotes and the backslash protect, an unquoted # starts a
// comment. is_closed: false if a quote is still open at the end.
struct DirectiveWords {
  std::vector<std::string> words;
  bool is_closed = true;
};
[[nodiscard]] DirectiveWords split_directive(std::string_view text);

}  // namespace autopilot::workloads::migrate
