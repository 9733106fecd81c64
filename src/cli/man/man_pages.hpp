// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace autopilot::cli {

struct ManPage {
  std::string name;  // "autopilot-check"
  int section = 1;
  std::string text;

  // "man1/autopilot-check.1"
  [[nodiscard]] std::string file() const;
};

// The pages of a program: one with its verbs, and one for each verb that --help lists. date: "2026-11-30".
[[nodiscard]] std::vector<ManPage> man_pages_of(const CLI::App& program, const std::string& date);
// autopilot.yaml(5) and autopilot-controller.yaml(5), from the tables of settings.
[[nodiscard]] std::vector<ManPage> man_pages_of_settings(const std::string& date);

}  // namespace autopilot::cli
