// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/secret_line.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "workloads/migrate/script/secret_names.hpp"

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
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_quote(char c) {
  return c == '"' || c == '\'';
}
bool ends_shell_word(char c) {
  return is_blank(c) || std::string_view(";|&<>()").find(c) != std::string_view::npos;
}
bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

std::string variable_name(std::string_view name) {
  std::string variable(name);
  if (variable.find('-') == std::string::npos) return variable;
  for (char& c : variable)
    c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return variable;
}

// WANDB_KEY of "--wandb_key".
std::string option_variable(std::string_view name) {
  return variable_name(std::string(name) + '-').substr(0, name.size());
}

struct Prefix {
  std::string_view text;
  std::size_t least = 0;  // signs behind it
  std::string_view variable;
};
constexpr std::array<Prefix, 20> kPrefixes{
    {{"hf_", 16, "HF_TOKEN"},           {"ghp_", 20, "GITHUB_TOKEN"},
     {"gho_", 20, "GITHUB_TOKEN"},      {"ghs_", 20, "GITHUB_TOKEN"},
     {"ghu_", 20, "GITHUB_TOKEN"},      {"github_pat_", 20, "GITHUB_TOKEN"},
     {"glpat-", 16, "GITLAB_TOKEN"},    {"sk-", 20, "API_KEY"},
     {"sk_live_", 16, "API_KEY"},       {"nvapi-", 20, "NGC_API_KEY"},
     {"xoxb-", 20, "SLACK_TOKEN"},      {"xoxp-", 20, "SLACK_TOKEN"},
     {"xapp-", 20, "SLACK_TOKEN"},      {"AKIA", 16, "AWS_ACCESS_KEY_ID"},
     {"ASIA", 16, "AWS_ACCESS_KEY_ID"}, {"AIza", 30, "API_KEY"},
     {"dckr_pat_", 20, "DOCKER_TOKEN"}, {"pypi-", 40, "PYPI_TOKEN"},
     {"dop_v1_", 20, "API_KEY"},        {"eyJ", 40, "TOKEN"}}};

// Addresses whose path is the secret.
struct Webhook {
  std::string_view text;
  std::string_view variable;
};
constexpr std::array<Webhook, 4> kWebhooks{{{"hooks.slack.com/services/", "SLACK_WEBHOOK"},
                                            {"discord.com/api/webhooks/", "DISCORD_WEBHOOK"},
                                            {"webhook.office.com/", "TEAMS_WEBHOOK"},
                                            {"api.telegram.org/bot", "TELEGRAM_TOKEN"}}};

// Where a value lies.
struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;      // without quotes and backslashes
  char own_quote = 0;    // the range includes it
  char outer_quote = 0;  // a quote that begins before the range
};

enum class Style : std::uint8_t { assignment, word };

class LineCleaner {
 public:
  LineCleaner(std::string line, std::string_view before, const NameSecret& name_secret)
      : line_(std::move(line)), before_(before), name_secret_(name_secret) {
    const std::string_view text = trim(line_);
    is_directive_ = text.starts_with("#BSUB") || text.starts_with("#SBATCH");
  }

  std::string clean() {
    const std::size_t first = first_word();
    for (std::size_t at = 0; at < line_.size();)
      at = std::max(at + 1, at == first ? continued_option(at).value_or(step(at)) : step(at));
    return std::move(line_);
  }

 private:
  [[nodiscard]] std::size_t first_word() const {
    const auto at = std::find_if(line_.begin(), line_.end(), [](char c) { return !is_blank(c); });
    return static_cast<std::size_t>(at - line_.begin());
  }

  // The value of "--password \" of the line before.
  std::optional<std::size_t> continued_option(std::size_t at) {
    const auto words = split_words(before_);
    if (words.empty() || !words.back().starts_with("--")) return std::nullopt;
    const std::string name(words.back().substr(2));
    return take(value_at(at), name, option_variable(name), Style::word);
  }

  // Where to go on.
  std::size_t step(std::size_t at) {
    const bool begins = at == 0 || !is_name(line_[at - 1]);
    if (at == 0 || is_blank(line_[at - 1]) || is_quote(line_[at - 1]))
      if (const auto end = command_value(at)) return *end;
    if (begins && (is_letter(line_[at]) || line_[at] == '_')) {
      if (const auto end = named_value(at)) return *end;
      if (const auto end = known_prefix(at)) return *end;
      if (const auto end = known_word(at)) return *end;
    }
    if (line_[at] == '-' && (at == 0 || line_[at - 1] != '-') && begins)
      if (const auto end = option_value(at)) return *end;
    if (line_.compare(at, 3, "://") == 0)
      if (const auto end = url_password(at + 3)) return *end;
    return at + 1;
  }

  // NAME=value, ["NAME"] = "value", "NAME": "value", name: value, ${NAME:-value}
  std::optional<std::size_t> named_value(std::size_t at) {
    std::size_t end = at;
    while (end < line_.size() && (is_name(line_[end]) ||
                                  (line_[end] == '-' && end + 1 < line_.size() && is_letter(line_[end + 1]))))
      ++end;
    std::string name = line_.substr(at, end - at);
    if (at > 1 && line_.compare(at - 2, 2, "${") == 0) return default_value(at);
    if (sensitivity_of(name) == Sensitivity::none) return std::nullopt;
    const std::string variable = variable_name(name);
    if (end < line_.size() && line_[end] == '=' && end + 1 < line_.size() && !is_blank(line_[end + 1]) &&
        line_[end + 1] != '=')
      return take(value_at(end + 1), name, variable, Style::assignment);
    const bool is_quoted_name = end < line_.size() && (is_quote(line_[end]) || line_[end] == '\\');
    while (end < line_.size() && std::string_view("\"'\\]").find(line_[end]) != std::string_view::npos)
      ++end;
    const std::size_t behind_name = end;
    end = skip_blanks(end);
    if (end >= line_.size()) return std::nullopt;
    const char separator = line_[end];
    if (separator != '=' && separator != ':' && !(separator == ',' && is_quoted_name)) return std::nullopt;
    ++end;
    if (end < line_.size() && separator != ',' && line_[end] == '=') ++end;
    const std::size_t value = skip_blanks(end);
    if (value >= line_.size() || (separator == ':' && line_[value] == ':')) return std::nullopt;
    const Value found = value_at(value);
    const bool is_quoted = is_quote(line_[value]) || line_[value] == '\\';
    const bool is_ini = separator == ':' || (behind_name < end - 1 && value > end);
    if (!is_quoted && (separator == ',' || !is_ini || !has_digit(found.text))) return std::nullopt;
    return take(found, name, variable, Style::word);
  }

  // At the name of "${NAME:-value}": its name, or that of the variable that gets it, is sensitive.
  std::optional<std::size_t> default_value(std::size_t at) {
    std::size_t end = at;
    while (end < line_.size() && is_name(line_[end]))
      ++end;
    std::string name = line_.substr(at, end - at);
    if (end < line_.size() && line_[end] == ':') ++end;
    if (end >= line_.size() || (line_[end] != '-' && line_[end] != '=')) return std::nullopt;
    ++end;
    const auto close = line_.find('}', end);
    if (close == std::string::npos) return std::nullopt;
    Value value{end, close, line_.substr(end, close - end), 0, 0};
    if (value.text.size() > 1 && is_quote(value.text.front()))
      value.text = value.text.substr(1, value.text.size() - 2);
    if (sensitivity_of(name) == Sensitivity::none && at > 2) {
      std::size_t begin = at - 2;
      if (begin > 0 && line_[begin - 1] == '"') --begin;
      if (begin > 0 && line_[begin - 1] == '=') {
        std::size_t first = begin - 1;
        while (first > 0 && is_name(line_[first - 1]))
          --first;
        name = line_.substr(first, begin - 1 - first);
      }
    }
    return take(value, name, name, Style::assignment);
  }

  // --name value, --name=value, -name value
  std::optional<std::size_t> option_value(std::size_t at) {
    const std::size_t begin = line_.find_first_not_of('-', at);
    if (begin == std::string::npos || begin > at + 2) return std::nullopt;
    std::size_t end = begin;
    while (end < line_.size() && (is_name(line_[end]) || line_[end] == '-'))
      ++end;
    if (end >= line_.size() || end < begin + 2 || (line_[end] != '=' && line_[end] != ' '))
      return std::nullopt;
    const std::string name = line_.substr(begin, end - begin);
    if (sensitivity_of(name) == Sensitivity::none) return std::nullopt;
    const std::size_t value = line_[end] == '=' ? end + 1 : skip_blanks(end);
    if (value >= line_.size() || line_[value] == '-' || line_[value] == '\\') return std::nullopt;
    return take(value_at(value), name, option_variable(name), Style::word);
  }

  std::optional<std::size_t> known_prefix(std::size_t at) {
    for (const Webhook& hook : kWebhooks) {
      if (line_.compare(at, hook.text.size(), hook.text) != 0) continue;
      const std::size_t begin = at + hook.text.size();
      std::size_t end = begin;
      while (end < line_.size() && !ends_shell_word(line_[end]) && !is_quote(line_[end]) && line_[end] != '$')
        ++end;
      if (end > begin + 5 && !is_placeholder(std::string_view(line_).substr(begin, end - begin)))
        return replace(plain_value(begin, end), std::string(hook.variable), Style::assignment);
    }
    for (const Prefix& prefix : kPrefixes) {
      if (line_.compare(at, prefix.text.size(), prefix.text) != 0) continue;
      std::size_t end = at + prefix.text.size();
      while (end < line_.size() && (is_name(line_[end]) || line_[end] == '-' || line_[end] == '.'))
        ++end;
      const std::string_view rest =
          std::string_view(line_).substr(at + prefix.text.size(), end - at - prefix.text.size());
      if (rest.size() < prefix.least || !has_digit(rest) || is_placeholder(rest)) continue;
      return replace(plain_value(at, end), std::string(prefix.variable), Style::assignment);
    }
    return std::nullopt;
  }

  // Words that announce a secret: "Bearer x", "setenv NAME x", "machine h login u password x", "pass:x".
  std::optional<std::size_t> known_word(std::size_t at) {
    const std::string_view rest = std::string_view(line_).substr(at);
    for (const std::string_view word : {"Bearer ", "bearer ", "Basic "}) {
      if (!rest.starts_with(word)) continue;
      const Value value = value_at(skip_blanks(at + word.size()));
      if (value.text.size() >= 8 && has_digit(value.text) && !is_placeholder(value.text))
        return replace(value, word == "Basic " ? "BASIC_AUTH" : "TOKEN", Style::word);
    }
    if (rest.starts_with("setenv ")) {
      const std::size_t name = skip_blanks(at + 7);
      std::size_t end = name;
      while (end < line_.size() && is_name(line_[end]))
        ++end;
      const std::string variable = line_.substr(name, end - name);
      return take(value_at(skip_blanks(end)), variable, variable, Style::word);
    }
    for (const std::string_view word : {"password ", "passwd "}) {
      if (!rest.starts_with(word)) continue;
      const auto words = split_words(line_);
      if (line_.find("login ") == std::string::npos && line_.find("machine ") == std::string::npos &&
          !(words.size() == 2 && first_word() == at))
        continue;
      return take(value_at(skip_blanks(at + word.size())), "password", "NETRC_PASSWORD", Style::assignment);
    }
    if (rest.starts_with("pass:")) return take(value_at(at + 5), "password", "PASSPHRASE", Style::assignment);
    return std::nullopt;
  }

  // user:password@
  std::optional<std::size_t> url_password(std::size_t at) {
    const auto stop = line_.find_first_of("/ \"'", at);
    const auto end = line_.rfind('@', stop);
    const auto colon = line_.find(':', at);
    if (end == std::string::npos || end < at || colon == std::string::npos || colon + 1 >= end)
      return std::nullopt;
    const std::string_view password = std::string_view(line_).substr(colon + 1, end - colon - 1);
    if (is_placeholder(password)) return std::nullopt;
    return replace(plain_value(colon + 1, end), "URL_PASSWORD", Style::assignment);
  }

  // The words of the command before a place.
  [[nodiscard]] std::vector<std::string> command_before(std::size_t at) const {
    const std::string text = before_ + ' ' + line_.substr(0, at);
    const auto begin = text.find_last_of("|;&(`");
    std::vector<std::string> words;
    for (const std::string_view word :
         split_words(std::string_view(text).substr(begin == std::string::npos ? 0 : begin + 1)))
      words.emplace_back(word);
    return words;
  }

  static bool runs(const std::vector<std::string>& words, std::string_view programs) {
    const auto names = split_words(programs);
    return std::any_of(words.begin(), words.end(), [&names](const std::string& word) {
      return std::find(names.begin(), names.end(),
                       std::string_view(word).substr(word.find_last_of("/=\"'") + 1)) != names.end();
    });
  }

  // Passwords of programs, at the beginning of a word.
  std::optional<std::size_t> command_value(std::size_t at) {
    if (line_.compare(at, 3, "<<<") == 0 && reads_password(line_))
      return take(value_at(skip_blanks(at + 3)), "password", "SUDO_PASSWORD", Style::word);
    if (line_.compare(at, 5, "echo ") == 0 || line_.compare(at, 7, "printf ") == 0)
      return printed_password(at);
    if (at >= line_.size() || is_blank(line_[at])) return std::nullopt;
    const std::vector<std::string> words = command_before(at);
    if (words.empty()) return std::nullopt;
    if (line_[at] != '-') {
      if (words.size() < 2 || !runs(words, "wandb") || !runs(words, "login")) return std::nullopt;
      const Value value = value_at(at);
      if (value.text.size() < 12 || !has_digit(value.text) || is_placeholder(value.text)) return std::nullopt;
      return replace(value, "WANDB_API_KEY", Style::word);
    }
    const auto option = [&](std::string_view name) { return line_.compare(at, name.size(), name) == 0; };
    const std::size_t attached = at + 2;
    if (option("-p") && words.size() < 4 && runs(words, "sshpass") && !runs(words, "ssh scp sftp rsync"))
      return take(value_at(skip_blanks(attached)), "password", "SSHPASS", Style::word);
    if (option("-p") && attached < line_.size() && !is_blank(line_[attached]) && !option("-port") &&
        runs(words, "mysql mysqldump mysqladmin mysqlimport mysqlsh mariadb mariadb-dump"))
      return take(value_at(attached), "password", "MYSQL_PWD", Style::word);
    if (option("-p") && !option("-path") && runs(words, "login") &&
        runs(words,
             "az docker podman helm skopeo buildah oras nerdctl apptainer singularity oc crane ibmcloud"))
      return take(value_at(skip_blanks(attached)), "password", "LOGIN_PASSWORD", Style::word);
    if (option("-a") && runs(words, "redis-cli"))
      return take(value_at(skip_blanks(attached)), "password", "REDIS_PASSWORD", Style::word);
    if (option("-w") && runs(words, "ldapsearch ldapmodify ldapadd ldapwhoami"))
      return take(value_at(skip_blanks(attached)), "password", "LDAP_PASSWORD", Style::word);
    for (const std::string_view name : {"--user=", "--user ", "--proxy-user ", "-u", "-U"})
      if (option(name) && runs(words, "curl wget http smbclient rclone lftp"))
        return after_user(skip_blanks(at + name.size()));
    return std::nullopt;
  }

  // user:password
  std::optional<std::size_t> after_user(std::size_t at) {
    Value value = value_at(at);
    const auto colon = value.text.find_first_of(":%");
    const auto place = line_.find_first_of(":%", value.begin);
    if (colon == std::string::npos || place == std::string::npos || place >= value.end) return std::nullopt;
    const std::string user = value.text.substr(0, colon + 1);
    value.text.erase(0, colon + 1);
    if (value.text.empty() || is_placeholder(value.text)) return std::nullopt;
    const std::string variable = name_secret_("CURL_PASSWORD", value.text);
    const std::string quote(value.outer_quote == 0 ? 1U : 0U, '"');
    std::string text = quote + user + "${" + variable + "}" + quote;
    if (value.outer_quote == '\'') text = user + "'\"${" + variable + "}\"'";
    line_.replace(value.begin, value.end - value.begin, text);
    return value.begin + text.size();
  }

  static bool reads_password(std::string_view text) {
    constexpr std::array<std::string_view, 9> readers{"sudo -S",          "sudo -kS",   "sudo -k -S",
                                                      "--password-stdin", "--stdin",    "kinit",
                                                      "chpasswd",         "cryptsetup", "--passphrase-fd"};
    return std::any_of(readers.begin(), readers.end(), [text](std::string_view reader) {
      return text.find(reader) != std::string_view::npos;
    });
  }

  // echo PASSWORD | sudo -S command
  std::optional<std::size_t> printed_password(std::size_t at) {
    const auto pipe = line_.find('|', at);
    if (pipe == std::string::npos || !reads_password(std::string_view(line_).substr(pipe)))
      return std::nullopt;
    std::size_t begin = at;
    std::optional<Value> last;
    while ((begin = skip_blanks(begin)) < line_.size() && !ends_shell_word(line_[begin])) {
      const Value value = value_at(begin);
      if (value.end <= begin) break;
      if (begin != at && !value.text.starts_with('-')) last = value;
      begin = value.end;
    }
    return last ? take(*last, "password", "SUDO_PASSWORD", Style::word) : std::nullopt;
  }

  [[nodiscard]] std::size_t skip_blanks(std::size_t at) const {
    while (at < line_.size() && is_blank(line_[at]))
      ++at;
    return at;
  }

  // The quote that is open at a place.
  [[nodiscard]] char quote_at(std::size_t at) const {
    char quote = 0;
    for (std::size_t place = 0; place < at && place < line_.size(); ++place) {
      const char c = line_[place];
      if (c == '\\' && quote != '\'') {
        ++place;
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      }
    }
    return quote;
  }

  [[nodiscard]] Value plain_value(std::size_t begin, std::size_t end) const {
    return {begin, end, line_.substr(begin, end - begin), 0, quote_at(begin)};
  }

  // The word at a place, as a shell reads it.
  [[nodiscard]] Value value_at(std::size_t at) const {
    if (at >= line_.size()) return {at, at, "", 0, 0};
    char outer = quote_at(at);
    // A quote that closes and at once begins a word is an apostrophe of a comment.
    if (outer != 0 && line_[at] == outer && at + 1 < line_.size() && !ends_shell_word(line_[at + 1]))
      outer = 0;
    if (outer != 0) return value_within(at, outer);
    Value value{at, at, "", is_quote(line_[at]) ? line_[at] : '\0', 0};
    char quote = 0;
    for (; value.end < line_.size(); ++value.end) {
      const char c = line_[value.end];
      if (quote != 0 && c == quote) {
        quote = 0;
      } else if (c == '\\' && quote != '\'' && value.end + 1 < line_.size()) {
        value.text += line_[++value.end];
      } else if (quote == 0 && is_quote(c)) {
        quote = c;
      } else if (quote == 0 && (ends_shell_word(c) || (is_directive_ && c == ',') || c == '`')) {
        break;
      } else {
        value.text += c;
      }
    }
    // In single quotes a dollar is a sign of the value.
    if (value.own_quote == '\'' && value.text.starts_with('$')) value.text.insert(0, 1, '\'');
    return value;
  }

  [[nodiscard]] Value value_within(std::size_t at, char outer) const {
    std::string close;
    if (line_.compare(at, 2, "\\\"") == 0)
      close = "\\\"";
    else if (is_quote(line_[at]) && line_[at] != outer)
      close = line_[at];
    const std::size_t begin = at + close.size();
    std::size_t end = begin;
    if (!close.empty())
      end = std::min(line_.find(close, begin), line_.find(outer, begin + close.size() - 1));
    else
      while (end < line_.size() && line_[end] != outer && !ends_shell_word(line_[end]) &&
             !(is_directive_ && line_[end] == ',') && line_[end] != '"')
        ++end;
    if (close == "\\\"") end = line_.find(close, begin);
    end = std::min(end, line_.size());
    return {begin, end, line_.substr(begin, end - begin), 0, outer};
  }

  std::optional<std::size_t> take(const Value& value, std::string_view name, const std::string& variable,
                                  Style style) {
    if (!is_secret_value(name, value.text)) return std::nullopt;
    return replace(value, variable, style);
  }

  std::size_t replace(const Value& value, const std::string& name, Style style) {
    std::string_view text = value.text;
    if (value.own_quote == '\'' && text.starts_with("'$")) text.remove_prefix(1);
    std::string reference = "${" + name_secret_(name, text) + "}";
    if (value.outer_quote == '\'')
      reference = "'\"" + reference + "\"'";
    else if (value.own_quote == '"' || (value.own_quote == '\'' && style == Style::word))
      reference = '"' + reference + '"';
    line_.replace(value.begin, value.end - value.begin, reference);
    return value.begin + reference.size();
  }

  std::string line_;
  std::string before_;
  const NameSecret& name_secret_;
  bool is_directive_ = false;
};

}  // namespace

std::string clean_line(std::string line, std::string_view before, const NameSecret& name_secret) {
  return LineCleaner(std::move(line), before, name_secret).clean();
}

}  // namespace autopilot::workloads::migrate
