// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/controller_config.hpp"

namespace autopilot::config {

enum class ValueSource : std::uint8_t { defaults, file, environment };

// "default", "file", "environment".
[[nodiscard]] std::string_view to_string(ValueSource source);

// One setting with the value in use.
struct EffectiveSetting {
  std::string name;   // "limits.lanes"; a setting with several values has one entry for each
  std::string value;  // as text, without passwords
  ValueSource source = ValueSource::defaults;
  std::string variable;  // of the environment, if that is the source
  int line = 0;          // of the file, if that is the source
};

// All settings of `config`, in the order of the documentation. `text` is the file that `config` was made
// from; empty: no file. A value that equals the default and is in the file comes from the file.
[[nodiscard]] std::vector<EffectiveSetting> effective_settings(const Config& config, std::string_view text,
                                                               const Environment& environment);
[[nodiscard]] std::vector<EffectiveSetting> effective_settings(const ControllerConfig& config,
                                                               std::string_view text);

}  // namespace autopilot::config
