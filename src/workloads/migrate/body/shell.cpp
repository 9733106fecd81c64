// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/shell.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool is_name_sign(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The end of a nested text that begins behind its opening sign; npos if it is not closed.
std::size_t end_of_nested(std::string_view text, std::size_t at, char open, char close) {
  int depth = 1;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

// Splits one line into words and operators.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // False if the text is not complete: an open quote, or a backslash at its end.
  bool scan() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        ++at_;
        if (c == '\n') words_.push_back({";", at_ - 1, at_, true});
      } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        at_ += 2;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
        scan_operator();
      } else if (!scan_word()) {
        return false;
      }
    }
    return true;
  }

  std::vector<ShellWord> take() { return std::move(words_); }

 private:
  void scan_operator() {
    const std::size_t begin = at_;
    const char c = text_[at_++];
    if (c == '(' || c == ')') {
      words_.push_back({std::string(1, c), begin, at_, true});
      return;
    }
    while (at_ < text_.size() && at_ - begin < 3 &&
           (text_[at_] == c || (c == '>' && text_[at_] == '&') || (c == '&' && text_[at_] == '>') ||
            (c == '<' && text_[at_] == '-')))
      ++at_;
    words_.push_back({std::string(text_.substr(begin, at_ - begin)), begin, at_, true});
  }

  bool scan_word() {
    const std::size_t begin = at_;
    std::string value;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c) || std::string_view(";&|()<>").find(c) != std::string_view::npos) break;
      if (c == '\\') {
        if (at_ + 1 >= text_.size()) return false;
        if (text_[at_ + 1] != '\n') value += text_[at_ + 1];
        at_ += 2;
      } else if (c == '\'' || c == '"') {
        if (!scan_quoted(c, value)) return false;
      } else if (c == '$' || c == '`') {
        if (!scan_reference(value)) return false;
      } else {
        value += c;
        ++at_;
      }
    }
    words_.push_back({std::move(value), begin, at_, false});
    return true;
  }

  bool scan_quoted(char quote, std::string& value) {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return true;
      }
      if (quote == '"' && c == '\\' && at_ + 1 < text_.size()) {
        if (text_[++at_] != '\n') value += text_[at_];
      } else if (quote == '"' &&
                 (c == '`' || (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '('))) {
        if (!scan_reference(value)) return false;
        --at_;
      } else {
        value += c;
      }
    }
    return false;
  }

  // $name, ${name}, $(command), $((sum)) or `command`, unchanged.
  bool scan_reference(std::string& value) {
    const std::size_t begin = at_;
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    std::size_t end = at_ + 1;
    if (text_[at_] == '`') {
      end = text_.find('`', at_ + 1);
      if (end == std::string_view::npos) return false;
      ++end;
    } else if (next == '(' || next == '{') {
      end = end_of_nested(text_, at_ + 2, next, next == '(' ? ')' : '}');
      if (end == std::string_view::npos) return false;
      ++end;
    }
    value += text_.substr(begin, end - begin);
    at_ = end;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<ShellWord> words_;
};

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  std::string_view name = word.substr(0, equals);
  if (name.ends_with('+')) name.remove_suffix(1);
  return is_shell_name(name);
}

constexpr std::array<std::string_view, 10> kKeywords{"if",    "then", "else", "elif", "while",
                                                     "until", "do",   "{",    "!",    "time"};

constexpr std::size_t kMaxFailedJoins = 20;

class Reader {
 public:
  explicit Reader(const std::vector<ScriptLine>& body) : body_(body) {}

  ShellScript read() {
    while (at_ < body_.size()) {
      const std::size_t first = at_;
      std::vector<ShellWord> words = join();
      const std::size_t index = script_.lines.size() - 1;
      split_commands(words, index, 0, false, 0);
      for (const std::string& mark : here_marks(words))
        skip_here_document(mark);
      if (at_ == first) ++at_;
    }
    return std::move(script_);
  }

 private:
  // The next line with its continuations, appended to the lines; its words.
  std::vector<ShellWord> join() {
    const std::size_t first = at_;
    std::string text;
    // A lone apostrophe must not make every line read hundreds of others.
    const std::size_t most = failures_ < kMaxFailedJoins ? kMaxJoinedLines : 1;
    bool continues = true;
    for (std::size_t end = first; end < body_.size() && (end - first < most || continues); ++end) {
      if (end - first >= kMaxJoinedLines) break;
      if (end > first) text += '\n';
      text += body_[end].text;
      continues = std::string_view(text).ends_with('\\');
      Scanner scanner(text);
      if (scanner.scan() && !continues) {
        at_ = end + 1;
        script_.lines.push_back({body_[first].number, std::move(text), false});
        return scanner.take();
      }
      if (continues && end + 1 == body_.size()) break;
    }
    ++failures_;
    at_ = first + 1;
    script_.lines.push_back({body_[first].number, body_[first].text, false});
    return {};
  }

  static std::vector<std::string> here_marks(const std::vector<ShellWord>& words) {
    std::vector<std::string> marks;
    for (std::size_t at = 0; at + 1 < words.size(); ++at)
      if (words[at].is_operator && (words[at].value == "<<" || words[at].value == "<<-"))
        marks.push_back(words[at + 1].value);
    return marks;
  }

  void skip_here_document(const std::string& mark) {
    for (; at_ < body_.size(); ++at_) {
      script_.lines.push_back({body_[at_].number, body_[at_].text, true});
      if (trim(body_[at_].text) == mark) {
        ++at_;
        return;
      }
    }
  }

  void split_commands(const std::vector<ShellWord>& words, std::size_t line, std::size_t offset,
                      bool is_nested, int depth) {
    ShellCommand command;
    const auto finish = [&](bool is_background) {
      command.is_background = is_background;
      add(std::exchange(command, {}), line, is_nested, depth);
    };
    for (std::size_t at = 0; at < words.size(); ++at) {
      ShellWord word = words[at];
      word.begin += offset;
      word.end += offset;
      if (word.is_operator) {
        const char first = word.value.front();
        if (first == '<' || first == '>' || word.value == "&>" || word.value == "&>>") {
          if (first != '<' && at + 1 < words.size() && !words[at + 1].is_operator)
            command.output_file = words[at + 1].value;
          // "2>": the number belongs to the redirection.
          if (!command.words.empty() && command.words.back().end == word.begin &&
              parse_number<int>(command.words.back().value))
            command.words.pop_back();
          if (at + 1 < words.size() && !words[at + 1].is_operator) ++at;
          continue;
        }
        finish(word.value == "&");
        continue;
      }
      const bool is_first = command.words.empty();
      if (is_first && std::find(kKeywords.begin(), kKeywords.end(), word.value) != kKeywords.end()) continue;
      if (is_first && is_assignment(word.value))
        command.assignments.push_back(std::move(word));
      else
        command.words.push_back(std::move(word));
    }
    finish(false);
  }

  void add(ShellCommand command, std::size_t line, bool is_nested, int depth) {
    if (command.words.empty() && command.assignments.empty()) return;
    if (script_.commands.size() >= kMaxShellCommands) return;
    command.line = line;
    command.is_nested = is_nested;
    const ShellWord& first =
        command.assignments.empty() ? command.words.front() : command.assignments.front();
    command.number = number_at(line, first.begin);
    const ShellCommand kept = command;
    script_.commands.push_back(std::move(command));
    if (depth >= 4) return;
    for (const ShellWord& word : kept.assignments)
      add_inner(word, line, depth);
    for (const ShellWord& word : kept.words)
      add_inner(word, line, depth);
    add_of_shell(kept, line, depth);
  }

  [[nodiscard]] int number_at(std::size_t line, std::size_t offset) const {
    const std::string_view text = script_.lines[line].text;
    const auto before = text.substr(0, std::min(offset, text.size()));
    return script_.lines[line].number + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  }

  // Commands in $(...) and backquotes of a word.
  void add_inner(const ShellWord& word, std::size_t line, int depth) {
    const std::string text = script_.lines[line].text;
    for (std::size_t at = word.begin; at + 1 < word.end; ++at) {
      std::size_t begin = 0;
      std::size_t end = std::string::npos;
      if (text[at] == '$' && text[at + 1] == '(' && text.compare(at, 3, "$((") != 0) {
        begin = at + 2;
        end = end_of_nested(text, begin, '(', ')');
      } else if (text[at] == '`') {
        begin = at + 1;
        end = text.find('`', begin);
      }
      if (end == std::string::npos || begin == 0) continue;
      add_text(std::string_view(text).substr(begin, end - begin), line, begin, depth);
      at = end;
    }
  }

  // bash -c "commands"
  void add_of_shell(const ShellCommand& command, std::size_t line, int depth) {
    for (std::size_t at = 0; at + 2 < command.words.size(); ++at) {
      const std::string_view program = base_name(command.words[at].value);
      const std::string& option = command.words[at + 1].value;
      if ((program != "bash" && program != "sh") || option.size() < 2 || option.front() != '-' ||
          option.back() != 'c')
        continue;
      const ShellWord& word = command.words[at + 2];
      const std::string text = script_.lines[line].text.substr(word.begin, word.end - word.begin);
      if (text.size() > 2 && (text.front() == '\'' || text.front() == '"'))
        add_text(std::string_view(text).substr(1, text.size() - 2), line, word.begin + 1, depth);
      return;
    }
  }

  void add_text(std::string_view text, std::size_t line, std::size_t offset, int depth) {
    Scanner scanner(text);
    if (!scanner.scan()) return;
    split_commands(scanner.take(), line, offset, true, depth + 1);
  }

  const std::vector<ScriptLine>& body_;
  std::size_t at_ = 0;
  std::size_t failures_ = 0;
  ShellScript script_;
};

}  // namespace

ShellScript read_shell(const std::vector<ScriptLine>& body) {
  return Reader(body).read();
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_shell_name(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), is_name_sign);
}

std::vector<std::string> variables_in(std::string_view text) {
  std::vector<std::string> names;
  const auto name_at = [&text](std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_name_sign(text[end]))
      ++end;
    return std::string(text.substr(at, end - at));
  };
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != '$') continue;
    std::size_t begin = at + 1;
    if (text.compare(begin, 2, "((") == 0) {
      const auto end = std::min(text.find("))", begin), text.size());
      for (std::size_t inner = begin; inner < end; ++inner) {
        std::string name = name_at(inner);
        if (is_shell_name(name)) names.push_back(name);
        inner += name.size();
      }
      continue;
    }
    if (text[begin] == '{') ++begin;
    if (begin < text.size() && (text[begin] == '#' || text[begin] == '!')) ++begin;
    std::string name = name_at(begin);
    if (is_shell_name(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace autopilot::workloads::migrate
