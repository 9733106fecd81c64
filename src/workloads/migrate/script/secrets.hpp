// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// Replaces what is probably a secret by a reference to a variable: values of variables and options such as
// *_TOKEN, *_API_KEY and --password, tokens with a known prefix, passwords in URLs, private keys.
// Placeholders and references to variables are not secrets. Nothing that follows sees the value.
[[nodiscard]] TextWithoutSecrets remove_secrets(std::string_view text);

}  // namespace autopilot::workloads::migrate
