// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/script.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::string_view kLsfMark = "#BSUB";
constexpr std::string_view kSlurmMark = "#SBATCH";

std::string_view mark_of(Scheduler scheduler) {
  return scheduler == Scheduler::lsf ? kLsfMark : kSlurmMark;
}

// LSF needs a blank after its mark; Slurm reads on right behind it.
bool is_directive(std::string_view line, Scheduler scheduler) {
  const std::string_view mark = mark_of(scheduler);
  if (!line.starts_with(mark)) return false;
  const std::string_view rest = line.substr(mark.size());
  return rest.empty() || rest.front() == ' ' || rest.front() == '\t' || rest.front() == '-';
}

// Not a comment, and not blank.
bool is_command_line(std::string_view line) {
  const std::string_view text = trim(line);
  return !text.empty() && text.front() != '#';
}

// A mark that its scheduler does not recognise: " #SBATCH", "#sbatch", "# BSUB", "##BSUB".
bool is_near_directive(std::string_view line, Scheduler scheduler) {
  const std::string_view text = trim(line);
  if (text.empty() || text.front() != '#' || is_directive(line, scheduler)) return false;
  const auto name = text.find_first_not_of("# -\t");
  if (name == std::string_view::npos) return false;
  const std::string_view word = mark_of(scheduler).substr(1);
  if (to_lower(text.substr(name, word.size())) != to_lower(word)) return false;
  const std::string_view rest = trim(text.substr(name + word.size()));
  return rest.starts_with('-');
}

std::vector<ScriptLine> lines_of(std::string_view text, bool& has_carriage_returns) {
  std::vector<ScriptLine> lines;
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      has_carriage_returns = true;
    }
    lines.push_back({++number, std::string(line)});
  }
  return lines;
}

Result<Scheduler> scheduler_of(const std::vector<ScriptLine>& lines, std::optional<Scheduler> wanted,
                               Findings& findings) {
  const auto count = [&lines](Scheduler scheduler) {
    return std::count_if(lines.begin(), lines.end(),
                         [scheduler](const ScriptLine& line) { return is_directive(line.text, scheduler); });
  };
  const auto lsf = count(Scheduler::lsf);
  const auto slurm = count(Scheduler::slurm);
  if (wanted) return *wanted;
  if (lsf == 0 && slurm == 0)
    return fail(
        Errc::malformed,
        "no #BSUB and no #SBATCH line at the beginning of a line: the scheduler is unknown; give --from lsf "
        "or --from slurm");
  const Scheduler chosen = lsf > slurm ? Scheduler::lsf : Scheduler::slurm;
  if (lsf > 0 && slurm > 0)
    findings.add(Severity::warning, "M-TWO-SCHEDULERS", 0,
                 "The script has " + std::to_string(lsf) + " #BSUB and " + std::to_string(slurm) +
                     " #SBATCH lines; it is read as a script of " + std::string(title_of(chosen)),
                 "Give --from lsf or --from slurm if that is wrong");
  return chosen;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) {
      result += c;
    } else {
      result += static_cast<char>(0xC0U | (byte >> 6U));
      result += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return result;
}

class Splitter {
 public:
  Splitter(Script& script, Findings& findings) : script_(script), findings_(findings) {}

  void add(const ScriptLine& line) {
    if (is_directive(line.text, script_.scheduler)) {
      add_directive(line);
      return;
    }
    if (is_near_directive(line.text, script_.scheduler))
      findings_.add(Severity::note, "M-COMMENTED", line.number,
                    "A line resembles a directive, but " + std::string(title_of(script_.scheduler)) +
                        " reads it as a comment; so does this migration",
                    "Write " + std::string(mark_of(script_.scheduler)) +
                        " in upper case at the beginning of the line if it should count");
    if (!has_command_ && is_command_line(line.text)) has_command_ = true;
    script_.body.push_back(line);
  }

 private:
  void add_directive(const ScriptLine& line) {
    if (has_command_ && script_.scheduler == Scheduler::slurm) {
      findings_.add(Severity::warning, "M-LATE-DIRECTIVE", line.number,
                    "#SBATCH after the first command: Slurm ignores it; so does this migration",
                    "Move the line above the first command if it should count");
      return;
    }
    script_.directives.push_back(line);
    const std::string_view rest = std::string_view(line.text).substr(mark_of(script_.scheduler).size());
    if (script_.scheduler == Scheduler::slurm && (trim(rest) == "hetjob" || trim(rest) == "packjob")) {
      ++script_.parts;
      return;
    }
    const DirectiveWords words = split_directive(rest);
    if (!words.is_closed)
      findings_.add(Severity::decision, "M-QUOTE", line.number,
                    "A quote in this directive is not closed; the value reaches to the end of the line",
                    "Close the quote");
    for (std::size_t at = 0; at < words.words.size(); ++at)
      script_.words.push_back({words.words[at], line.number, script_.parts - 1, at == 0});
  }

  Script& script_;
  Findings& findings_;
  bool has_command_ = false;
};

}  // namespace

std::string_view title_of(Scheduler scheduler) {
  return scheduler == Scheduler::lsf ? "LSF" : "Slurm";
}

DirectiveWords split_directive(std::string_view text) {
  DirectiveWords result;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == '\\' && at + 1 < text.size()) {
      word += text[++at];
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) result.words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else if (c != '\\') {
      word += c;
      in_word = true;
    }
  }
  result.is_closed = quote == 0;
  if (in_word) result.words.push_back(std::move(word));
  return result;
}

Result<Script> read_script(std::string_view text, std::optional<Scheduler> scheduler, Findings& findings) {
  if (text.size() > kMaxScriptBytes)
    return fail(Errc::exhausted, "longer than " + std::to_string(kMaxScriptBytes >> 20U) +
                                     " MiB: a job script is text; move data into files");
  if (text.find('\0') != std::string_view::npos)
    return fail(Errc::malformed, "contains zero bytes: not a text file");
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  bool has_carriage_returns = false;
  std::vector<ScriptLine> lines = lines_of(text, has_carriage_returns);
  for (ScriptLine& line : lines) {
    if (to_utf8(line.text) == line.text) continue;
    line.text = utf8_of_latin1(line.text);
    findings.add(Severity::note, "M-ENCODING", line.number,
                 "The line is not UTF-8; it is read as Latin-1 and becomes UTF-8, because a ConfigMap holds "
                 "UTF-8 only",
                 "Convert the script if it has another encoding, for example with: iconv -f CP1252 -t UTF-8");
  }
  if (has_carriage_returns)
    findings.add(Severity::note, "M-CRLF", 0,
                 "The script has line ends of Windows; the migrated script has those of Linux",
                 "Nothing to do");
  Script script;
  script.scheduler = TRY(scheduler_of(lines, scheduler, findings));
  std::size_t first = 0;
  if (!lines.empty() && lines.front().text.starts_with("#!")) {
    script.shebang = std::string(trim(std::string_view(lines.front().text).substr(2)));
    first = 1;
  }
  Splitter splitter(script, findings);
  for (std::size_t at = first; at < lines.size(); ++at)
    splitter.add(lines[at]);
  return script;
}

}  // namespace autopilot::workloads::migrate
