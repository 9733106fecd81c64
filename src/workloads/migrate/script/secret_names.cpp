// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/secret_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool is_number_sign(char c) {
  return c >= '0' && c <= '9';
}
bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}

template <class Words>
bool is_one_of(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The parts of WANDB_API_KEY or --api-key.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : to_lower(name)) {
    if (c == '_' || c == '-' || c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase(parts, "");
  return parts;
}

bool is_password_part(std::string_view part) {
  constexpr std::array<std::string_view, 6> others{"bypass",   "compass",  "lowpass",
                                                   "highpass", "bandpass", "trespass"};
  if (part == "pwd" || part == "userpwd") return true;
  if (is_one_of(others, part)) return false;
  return part.ends_with("pass") || part.ends_with("password") || part.ends_with("passwd") ||
         part.ends_with("passphrase");
}

bool is_key_part(std::string_view part) {
  constexpr std::array<std::string_view, 9> words{"key",  "secret", "secrets", "credential", "credentials",
                                                  "auth", "pat",    "apikey",  "accountkey"};
  constexpr std::array<std::string_view, 7> ends{"token",     "apikey",     "accesskey", "secretkey",
                                                 "sharedkey", "privatekey", "authkey"};
  return is_one_of(words, part) ||
         std::any_of(ends.begin(), ends.end(), [part](std::string_view end) { return part.ends_with(end); });
}

// "/home/me/key1", "../key1"; not "/Zq9+xW==".
bool is_path(std::string_view value) {
  if (value.starts_with("./") || value.starts_with("../") || value.starts_with("~")) return true;
  if (!value.starts_with('/') || value.find_first_of("+=") != std::string_view::npos) return false;
  const auto end = value.find('/', 1);
  if (end == std::string_view::npos) return false;
  const std::string_view first = value.substr(1, end - 1);
  return !first.empty() && std::all_of(first.begin(), first.end(), [](char c) {
    return is_small_letter(c) || is_number_sign(c) || c == '-';
  });
}

bool is_number(std::string_view value) {
  return std::all_of(value.begin(), value.end(), is_number_sign);
}

// "$NAME", "${NAME}", "$(command)", "`command`", "$1", and paths behind them.
bool is_reference(std::string_view value) {
  if (value.starts_with('`') || value.starts_with("$(")) return true;
  if (!value.starts_with('$') || value.size() < 2) return false;
  std::size_t end = 1;
  if (value[1] == '{') {
    const auto close = value.find('}');
    if (close == std::string_view::npos) return false;
    end = close + 1;
  } else {
    while (end < value.size() && (is_small_letter(to_lower(value.substr(end, 1)).front()) ||
                                  is_number_sign(value[end]) || value[end] == '_'))
      ++end;
    if (end == 1) return false;
  }
  return end == value.size() || value[end] == '/' || is_reference(value.substr(end));
}

}  // namespace

Sensitivity sensitivity_of(std::string_view name) {
  // Of tokenizers: a token there is a word of a text. Of the rest: what belongs to a key, not its value.
  constexpr std::array<std::string_view, 12> of_others{"pad", "eos",     "bos", "unk", "mask", "sep",
                                                       "cls", "special", "num", "max", "min",  "sort"};
  constexpr std::array<std::string_view, 14> ends{"len",  "length", "dim",    "size",   "type",
                                                  "name", "names",  "path",   "stdin",  "dir",
                                                  "file", "tries",  "prompt", "retries"};
  const auto parts = parts_of(name);
  if (parts.empty() || (parts.size() == 1 && parts.front() == "pwd")) return Sensitivity::none;
  if (is_one_of(ends, parts.back())) return Sensitivity::none;
  if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return is_password_part(part); }))
    return Sensitivity::password;
  if (std::any_of(parts.begin(), parts.end(),
                  [&of_others](const std::string& part) { return is_one_of(of_others, part); }))
    return Sensitivity::none;
  const std::string lower = to_lower(name);
  if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return is_key_part(part); }) ||
      lower.find("connection_string") != std::string::npos ||
      lower.find("connection-string") != std::string::npos)
    return Sensitivity::key;
  return Sensitivity::none;
}

bool is_placeholder(std::string_view value) {
  constexpr std::array<std::string_view, 22> words{
      "",        "changeme", "change_me", "change-me",  "changeit",  "todo",        "none",    "null",
      "nil",     "false",    "true",      "yes",        "no",        "placeholder", "example", "redacted",
      "replace", "fixme",    "replaceme", "replace_me", "insert_me", "tbd"};
  const std::string lower = to_lower(trim(value));
  if (is_one_of(words, lower) || is_reference(lower)) return true;
  const auto is_within = [&lower](char open, char close) {
    return lower.size() > 1 && lower.front() == open && lower.back() == close;
  };
  if (is_within('<', '>') || is_within('{', '}') || is_within('[', ']')) return true;
  if (lower.find_first_not_of(lower.front()) == std::string::npos &&
      std::string_view("x*.-_").find(lower.front()) != std::string_view::npos)
    return true;
  // "your_token", "your-api-key-here", "insert token here"
  return (lower.starts_with("your") || lower.starts_with("insert")) &&
         std::all_of(lower.begin(), lower.end(),
                     [](char c) { return is_small_letter(c) || c == '_' || c == '-' || c == ' '; });
}

bool is_secret_value(std::string_view name, std::string_view value) {
  const Sensitivity sensitivity = sensitivity_of(name);
  if (sensitivity == Sensitivity::none || is_placeholder(value)) return false;
  if (sensitivity == Sensitivity::password)
    return value.size() >= 3 && !(is_number(value) && value.size() < 4);
  if (value.size() < 6 || is_path(value) || (is_number(value) && value.size() < 10)) return false;
  const bool has_digit = std::any_of(value.begin(), value.end(), is_number_sign);
  // A key of an association: "KEY=value1".
  if (to_lower(name) == "key")
    return has_digit && value.size() >= 16 && value.find(' ') == std::string_view::npos;
  const auto parts = parts_of(name);
  const bool names_secret = is_one_of(parts, "secret");
  return has_digit || value.size() >= 16 || names_secret;
}

}  // namespace autopilot::workloads::migrate
