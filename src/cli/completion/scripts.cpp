// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/scripts.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/cli.hpp"
#include "cli/completion/live_words.hpp"
#include "cli/output/table.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kBashScript = R"script(# bash completion of autopilot
_autopilot() {
  local IFS=$'\n' line
  COMPREPLY=()
  for line in $("${COMP_WORDS[0]/#\~/$HOME}" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [ "$line" = ':files' ]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    else
      COMPREPLY+=("$line")
    fi
  done
}
complete -F _autopilot autopilot
)script";

constexpr std::string_view kZshScript = R"script(#compdef autopilot
_autopilot() {
  local line offers_files
  local -a lines candidates
  lines=("${(@f)$("${(Q)words[1]}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    if [[ $line == ':files' ]]; then
      offers_files=yes
    elif [[ -n $line ]]; then
      candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( $#candidates )) && _describe -V 'autopilot' candidates
  [[ -n $offers_files ]] && _files
  return 0
}
if [[ $funcstack[1] == _autopilot ]]; then
  _autopilot "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _autopilot autopilot
fi
)script";

constexpr std::string_view kFishScript = R"script(# fish completion of autopilot
function __autopilot_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete fish $words "$current" 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c autopilot -f -a '(__autopilot_complete)'
)script";

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBashScript);
  if (shell == "zsh") return std::string(kZshScript);
  return shell == "fish" ? std::string(kFishScript) : std::string();
}

void write_completion(std::ostream& out, const CLI::App& app, const std::string& shell,
                      const std::vector<std::string>& words) {
  std::size_t cut = 0;
  const bool is_bash = shell == "bash";
  const auto whole = is_bash ? joined_at_breaks(words, cut) : words;
  const Completion completion = complete(app, whole, live_words(whole));
  for (const Candidate& one : completion.candidates) {
    out << printable(one.word.substr(cut));
    if (!is_bash) out << "\t" << printable(one.description);
    out << "\n";
  }
  if (completion.offers_files) out << ":files\n";
}

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("completion", "Print a shell completion script");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(
      "The script asks autopilot at each Tab: for verbs, options, checks, reasons and\n"
      "Xids, and, while an agent answers, for its incidents, jobs and diagnostics.\n"
      "Examples:\n  source <(autopilot completion bash)\n  source <(autopilot completion zsh)\n"
      "  autopilot completion fish | source");
  verb->callback([shell, &exit_code] {
    std::cout << completion_script(*shell);
    exit_code = kExitHealthy;
  });
}

}  // namespace autopilot::cli
