// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/yaml.hpp"

namespace autopilot::simulator::cuda {

// Misbehaviour of a call of a simulated library, from the call number `after` on.
struct CallFault {
  enum class Kind { code, hang, abort };
  Kind kind = Kind::code;
  int code = 0;  // return value
  std::int64_t after = 0;
};
using CallFaults = std::map<std::string, CallFault, std::less<>>;

// A map from names of calls to `{result: CODE or hang or abort, after: N}`. `code`: the library's name for
// its return codes, for messages.
[[nodiscard]] CallFaults read_call_faults(const YamlNode& node, const std::string& code,
                                          YamlProblems& problems);

// Performs the fault: returns the code, or never returns.
[[nodiscard]] int act(const CallFault& fault);

}  // namespace autopilot::simulator::cuda
