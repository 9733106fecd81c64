// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "machine/description.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

struct BuiltinMachine {
  std::string id;
  std::string title;
};

// The compiled-in machines of machines/*.yaml.
[[nodiscard]] std::vector<BuiltinMachine> builtin_machines();
// not_found: the text names the known machines.
[[nodiscard]] Result<Description> builtin_description(std::string_view id);
[[nodiscard]] Result<Machine> builtin_machine(std::string_view id);

}  // namespace autopilot::simulator
