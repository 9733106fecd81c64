// SPDX-License-Identifier: Apache-2.0
#include "cli/duration_option.hpp"

#include <CLI/CLI.hpp>

#include "core/parse.hpp"

namespace autopilot::cli {

void add_duration_option(CLI::App& verb, const std::string& name, std::optional<Duration>& duration,
                         const std::string& description) {
  verb.add_option_function<std::string>(
          name,
          [&duration, name](const std::string& text) {
            duration = parse_duration(text);
            if (!duration)
              throw CLI::ValidationError(name, "expected a duration such as 2s or 500ms, not '" + text + "'");
          },
          description)
      ->type_name("DURATION");
}

}  // namespace autopilot::cli
