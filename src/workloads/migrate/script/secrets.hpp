// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::workloads::migrate {

// A secret that a script contains, without its value.
struct ScriptSecret {
  std::string variable;  // of the environment, which replaces the value: "HF_TOKEN"
  int line = 0;
};

struct TextWithoutSecrets {
  std::string text;  // with as many lines as before
  std::vector<ScriptSecret> secrets;
};

// The variables of the secrets of a job: one for each distinct value. A second value of TOKEN is TOKEN_2.
class SecretVariables {
 public:
  [[nodiscard]] std::string variable_of(const std::string& name, std::string_view value);
  // The variable by its value.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& by_variable() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;  // by variable
};

// Replaces what is probably a secret by a reference to a variable: values of variables and options whose name
// has a word such as TOKEN, KEY and PASSWORD, passwords of commands such as sshpass, mysql and curl, of netrc
// files and URLs, tokens with a known prefix, webhooks, private keys; and each further place of such a value.
// Placeholders and references to variables are not secrets. Nothing that follows sees the value.
[[nodiscard]] TextWithoutSecrets remove_secrets(std::string_view text, SecretVariables& variables);
[[nodiscard]] TextWithoutSecrets remove_secrets(std::string_view text);

}  // namespace autopilot::workloads::migrate
