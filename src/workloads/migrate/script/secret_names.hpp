// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

// Which names and values are probably those of a secret.
namespace autopilot::workloads::migrate {

enum class Sensitivity : std::uint8_t {
  none,
  key,       // of a key or a token: a value with digits, or a long one; not a path
  password,  // any value
};

// By the parts of the name: "KAGGLE_KEY", "--wandb_key", "PGPASSWORD"; none for "TOKENIZER", "MAX_TOKENS",
// "PWD".
[[nodiscard]] Sensitivity sensitivity_of(std::string_view name);

// The whole value stands for another: "", "<token>", "changeme", "your_token", "xxx", "$VAR", "$(command)".
[[nodiscard]] bool is_placeholder(std::string_view value);

// A literal value of a name that is sensitive, without its quotes.
[[nodiscard]] bool is_secret_value(std::string_view name, std::string_view value);

}  // namespace autopilot::workloads::migrate
