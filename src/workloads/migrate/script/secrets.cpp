// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/secrets.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "workloads/migrate/script/secret_line.hpp"

namespace autopilot::workloads::migrate {
namespace {

// Shorter values, and words without digits, also occur by chance.
constexpr std::size_t kLeastDistinct = 8;

std::vector<std::string> text_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

bool is_distinct(std::string_view value) {
  return value.size() >= kLeastDistinct && value.find_first_of("0123456789") != std::string_view::npos;
}

class SecretRemover {
 public:
  explicit SecretRemover(SecretVariables& variables) : variables_(variables) {}

  TextWithoutSecrets run(std::string_view text) {
    std::vector<std::string> lines = text_lines(text);
    for (std::size_t at = 0; at < lines.size(); ++at)
      clean(lines[at], static_cast<int>(at) + 1);
    for (std::size_t at = 0; at < lines.size(); ++at)
      replace_known(lines[at], static_cast<int>(at) + 1);
    for (std::size_t at = 0; at < lines.size(); ++at)
      result_.text += lines[at] + (at + 1 < lines.size() || text.ends_with('\n') ? "\n" : "");
    std::stable_sort(result_.secrets.begin(), result_.secrets.end(),
                     [](const auto& left, const auto& right) { return left.line < right.line; });
    return std::move(result_);
  }

 private:
  void clean(std::string& line, int number) {
    const bool begins_key =
        line.find("-----BEGIN ") != std::string::npos && line.find("PRIVATE KEY-----") != std::string::npos;
    const bool ends_key = line.find("-----END ") != std::string::npos;
    if (begins_key) {
      in_key_ = true;
      ++keys_;
      keep(keys_ == 1 ? "PRIVATE_KEY" : "PRIVATE_KEY_" + std::to_string(keys_), number);
      line = "${" + result_.secrets.back().variable + "}";
    } else if (in_key_) {
      line.clear();
    } else {
      line = clean_line(std::move(line), before_, [&](const std::string& name, std::string_view value) {
        std::string variable = variables_.variable_of(name, value);
        keep(variable, number);
        return variable;
      });
    }
    if (ends_key) in_key_ = false;
    if (line.ends_with('\\') && before_.size() < 4096)
      before_ += line.substr(0, line.size() - 1) + ' ';
    else
      before_.clear();
  }

  // A value that the script repeats in another form.
  void replace_known(std::string& line, int number) {
    for (const auto& [variable, value] : variables_.by_variable()) {
      if (!is_distinct(value)) continue;
      const std::string reference = "${" + variable + "}";
      for (auto at = line.find(value); at != std::string::npos;
           at = line.find(value, at + reference.size())) {
        line.replace(at, value.size(), reference);
        keep(variable, number);
      }
    }
  }

  void keep(const std::string& variable, int number) {
    const bool is_known = std::any_of(
        result_.secrets.begin(), result_.secrets.end(),
        [&](const ScriptSecret& secret) { return secret.variable == variable && secret.line == number; });
    if (!is_known) result_.secrets.push_back({variable, number});
  }

  SecretVariables& variables_;
  TextWithoutSecrets result_;
  std::string before_;
  bool in_key_ = false;
  int keys_ = 0;
};

}  // namespace

std::string SecretVariables::variable_of(const std::string& name, std::string_view value) {
  for (int number = 1;; ++number) {
    std::string variable = number == 1 ? name : name + "_" + std::to_string(number);
    const auto [place, is_new] = values_.try_emplace(variable, value);
    if (is_new || place->second == value) return variable;
  }
}

TextWithoutSecrets remove_secrets(std::string_view text, SecretVariables& variables) {
  return SecretRemover(variables).run(text);
}

TextWithoutSecrets remove_secrets(std::string_view text) {
  SecretVariables variables;
  return remove_secrets(text, variables);
}

}  // namespace autopilot::workloads::migrate
