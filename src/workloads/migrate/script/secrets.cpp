// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/secrets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}
// What a token or a password consists of, if it is not quoted.
bool is_secret_sign(char c) {
  return is_name(c) || std::string_view("-+/=.~!@%^*:").find(c) != std::string_view::npos;
}

// The parts of WANDB_API_KEY or --api-key.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : to_lower(name)) {
    if (c == '_' || c == '-')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_sensitive(std::string_view name) {
  constexpr std::array<std::string_view, 9> alone{"token",  "secret",     "password",  "passwd", "passphrase",
                                                  "apikey", "credential", "authtoken", "pat"};
  constexpr std::array<std::string_view, 6> of_key{"api", "access", "private", "secret", "auth", "account"};
  // Of tokenizers: a token there is a word of a text.
  constexpr std::array<std::string_view, 8> of_texts{"pad",  "eos", "bos", "unk",
                                                     "mask", "sep", "cls", "special"};
  const auto parts = parts_of(name);
  const auto any_of = [&parts](const auto& words) {
    return std::any_of(parts.begin(), parts.end(), [&words](const std::string& part) {
      return std::find(words.begin(), words.end(), part) != words.end();
    });
  };
  if (any_of(of_texts)) return false;
  return any_of(alone) || (any_of(of_key) && std::find(parts.begin(), parts.end(), "key") != parts.end());
}

bool is_placeholder(std::string_view value) {
  const std::string lower = to_lower(value);
  constexpr std::array<std::string_view, 8> words{"your",   "xxxx", "change", "example",
                                                  "insert", "todo", "none",   "false"};
  return std::any_of(words.begin(), words.end(),
                     [&lower](std::string_view word) { return lower.find(word) != std::string::npos; });
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

// A value of a sensitive name that is a literal and no path.
bool is_literal_secret(std::string_view name, std::string_view value, bool is_quoted) {
  if (value.size() < 6 || std::string_view("$`/~<.{[").find(value.front()) != std::string_view::npos)
    return false;
  if (is_placeholder(value)) return false;
  if (!is_quoted && !std::all_of(value.begin(), value.end(), is_secret_sign)) return false;
  if (value.find(' ') != std::string_view::npos) return false;
  const bool is_password = to_lower(name).find("pass") != std::string::npos;
  const bool is_small_number = value.size() < 10 && std::all_of(value.begin(), value.end(), is_digit);
  return !is_small_number && (is_password || has_digit(value) || value.size() >= 20);
}

struct Prefix {
  std::string_view text;
  std::size_t least = 0;  // signs behind it
  std::string_view variable;
};
constexpr std::array<Prefix, 12> kPrefixes{{{"hf_", 20, "HF_TOKEN"},
                                            {"ghp_", 20, "GITHUB_TOKEN"},
                                            {"gho_", 20, "GITHUB_TOKEN"},
                                            {"github_pat_", 20, "GITHUB_TOKEN"},
                                            {"glpat-", 16, "GITLAB_TOKEN"},
                                            {"sk-", 20, "API_KEY"},
                                            {"nvapi-", 20, "NGC_API_KEY"},
                                            {"xoxb-", 20, "SLACK_TOKEN"},
                                            {"AKIA", 16, "AWS_ACCESS_KEY_ID"},
                                            {"ASIA", 16, "AWS_ACCESS_KEY_ID"},
                                            {"dckr_pat_", 20, "DOCKER_TOKEN"},
                                            {"eyJ", 40, "TOKEN"}}};

// One line while its secrets are replaced.
class LineCleaner {
 public:
  LineCleaner(std::string line, int number, std::vector<ScriptSecret>& secrets)
      : line_(std::move(line)), number_(number), secrets_(secrets) {}

  std::string clean() {
    for (std::size_t at = 0; at < line_.size();)
      at = std::max(at + 1, step(at));
    return std::move(line_);
  }

 private:
  // Where to go on.
  std::size_t step(std::size_t at) {
    const bool begins = at == 0 || !is_name(line_[at - 1]);
    if (begins && (is_letter(line_[at]) || line_[at] == '_')) {
      if (const auto end = named_value(at)) return *end;
      if (const auto end = known_prefix(at)) return *end;
    }
    if (line_.compare(at, 2, "--") == 0 && (at == 0 || line_[at - 1] != '-'))
      if (const auto end = option_value(at + 2)) return *end;
    if (line_.compare(at, 3, "://") == 0)
      if (const auto end = url_password(at + 3)) return *end;
    for (const std::string_view word : {"wandb login ", "Bearer ", "bearer "})
      if (begins && line_.compare(at, word.size(), word) == 0)
        if (const auto end = after_word(at + word.size(), word.front() == 'w' ? "WANDB_API_KEY" : "TOKEN"))
          return *end;
    return at + 1;
  }

  // NAME=value
  std::optional<std::size_t> named_value(std::size_t at) {
    std::size_t end = at;
    while (end < line_.size() && is_name(line_[end]))
      ++end;
    if (end >= line_.size() || line_[end] != '=') return std::nullopt;
    const std::string name = line_.substr(at, end - at);
    if (!is_sensitive(name)) return std::nullopt;
    return value_at(end + 1, name, name);
  }

  // --name value, --name=value
  std::optional<std::size_t> option_value(std::size_t at) {
    std::size_t end = at;
    while (end < line_.size() && (is_name(line_[end]) || line_[end] == '-'))
      ++end;
    if (end >= line_.size() || (line_[end] != '=' && line_[end] != ' ')) return std::nullopt;
    const std::string name = line_.substr(at, end - at);
    if (!is_sensitive(name)) return std::nullopt;
    std::string variable;
    for (const char c : name)
      variable += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return value_at(end + 1, name, variable);
  }

  std::optional<std::size_t> known_prefix(std::size_t at) {
    for (const Prefix& prefix : kPrefixes) {
      if (line_.compare(at, prefix.text.size(), prefix.text) != 0) continue;
      std::size_t end = at + prefix.text.size();
      while (end < line_.size() && (is_name(line_[end]) || line_[end] == '-' || line_[end] == '.'))
        ++end;
      const std::string_view rest =
          std::string_view(line_).substr(at + prefix.text.size(), end - at - prefix.text.size());
      if (rest.size() < prefix.least || !has_digit(rest) || is_placeholder(rest)) continue;
      return replace(at, end, std::string(prefix.variable));
    }
    return std::nullopt;
  }

  // user:password@
  std::optional<std::size_t> url_password(std::size_t at) {
    const auto end = line_.find_first_of("@/ \"'$", at);
    const auto colon = line_.find(':', at);
    if (end == std::string::npos || line_[end] != '@' || colon == std::string::npos || colon + 1 >= end)
      return std::nullopt;
    return replace(colon + 1, end, "URL_PASSWORD");
  }

  std::optional<std::size_t> after_word(std::size_t at, const std::string& variable) {
    std::size_t end = at;
    while (end < line_.size() && is_secret_sign(line_[end]))
      ++end;
    const std::string_view value = std::string_view(line_).substr(at, end - at);
    if (value.size() < 16 || !has_digit(value)) return std::nullopt;
    return replace(at, end, variable);
  }

  std::optional<std::size_t> value_at(std::size_t at, std::string_view name, const std::string& variable) {
    if (at >= line_.size()) return std::nullopt;
    const char quote = line_[at];
    const bool is_quoted = quote == '"' || quote == '\'';
    const std::size_t begin = is_quoted ? at + 1 : at;
    std::size_t end = begin;
    while (end < line_.size() && (is_quoted ? line_[end] != quote : is_secret_sign(line_[end])))
      ++end;
    if (!is_literal_secret(name, std::string_view(line_).substr(begin, end - begin), is_quoted))
      return std::nullopt;
    // The quotes of the value go as well; a single quote would protect the reference.
    const bool closes = is_quoted && end < line_.size();
    return is_quoted && quote == '\'' ? replace(at, end + (closes ? 1 : 0), variable, false)
                                      : replace(begin, end, variable);
  }

  std::size_t replace(std::size_t begin, std::size_t end, const std::string& variable,
                      bool mind_quote = true) {
    std::string reference = "${" + variable + "}";
    const auto singles = std::count(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(begin), '\'');
    if (mind_quote && singles % 2 == 1) reference = "'\"" + reference + "\"'";
    line_.replace(begin, end - begin, reference);
    const bool is_known = std::any_of(secrets_.begin(), secrets_.end(), [&](const ScriptSecret& secret) {
      return secret.variable == variable && secret.line == number_;
    });
    if (!is_known) secrets_.push_back({variable, number_});
    return begin + reference.size();
  }

  std::string line_;
  int number_;
  std::vector<ScriptSecret>& secrets_;
};

}  // namespace

TextWithoutSecrets remove_secrets(std::string_view text) {
  TextWithoutSecrets result;
  bool in_key = false;
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    ++number;
    const bool begins_key = line.find("-----BEGIN ") != std::string_view::npos &&
                            line.find("PRIVATE KEY-----") != std::string_view::npos;
    if (begins_key) {
      in_key = true;
      result.secrets.push_back({"PRIVATE_KEY", number});
      result.text += "${PRIVATE_KEY}";
    }
    if (!in_key) result.text += LineCleaner(std::string(line), number, result.secrets).clean();
    if (line.find("-----END ") != std::string_view::npos) in_key = false;
    if (end != std::string_view::npos) result.text += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return result;
}

}  // namespace autopilot::workloads::migrate
