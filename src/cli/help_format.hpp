// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace autopilot::cli {

inline constexpr std::size_t kHelpColumns = 80;

// The text with long lines broken between words. Continuation lines are indented to the second column of the
// line, or to its first word if it has one column.
[[nodiscard]] std::string wrapped(std::string_view help);

// Help pages as CLI11 makes them, at most kHelpColumns wide.
class HelpFormat final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

}  // namespace autopilot::cli
