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

// "check", "jobs replay", "kubectl autopilot status"; empty for `autopilot` itself: the key of exit_codes_of.
[[nodiscard]] std::string verb_path(const CLI::App& verb);

// The footer of a verb with its exit codes (exit_codes.hpp) before the examples. A verb that only groups
// others has none.
[[nodiscard]] std::string footer_of(const CLI::App& verb);

// Help pages as CLI11 makes them, at most kHelpColumns wide, with the exit codes.
class HelpFormat final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override { return footer_of(*app) + "\n"; }
};

}  // namespace autopilot::cli
