// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::golden {

// expect.yaml of tests/golden/causes/<name>; tests/golden/causes/README.md explains the keys.
struct ExpectedIncident {
  std::vector<std::string> families;  // any of these is right, as with all lists of words here
  std::vector<std::string> ends;
  std::vector<std::string> blamed;
  std::vector<std::string> health;
  std::string subject;
  std::vector<int> lines;
  std::vector<int> consequences;
  std::vector<int> with;
  std::string at_end;
  bool is_optional = false;
  bool joins = false;
};

// Lines that the test adds after each line of the log.
struct Storm {
  int code = 0;
  std::size_t lines = 0;
  Duration over{0};
  std::vector<std::string> gpus;
  std::int64_t pid = 0;
};

struct Labels {
  bool is_held_out = false;
  std::vector<std::string> node;
  std::vector<ExpectedIncident> incidents;
  std::vector<int> noise;
  std::optional<Storm> storm;
};

[[nodiscard]] Result<Labels> parse_labels(const std::string& text, const std::string& file);
// The rule of tests/golden/causes/README.md.
[[nodiscard]] bool is_held_out(const std::string& scenario);

}  // namespace autopilot::golden
