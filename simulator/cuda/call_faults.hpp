// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/yaml.hpp"

namespace autopilot::simulator::cuda {

// What a call of a simulated library does instead of its work, from the call number `after` on.
struct CallFault {
  enum class Kind { code, hang, abort };
  Kind kind = Kind::code;
  int code = 0;  // that it returns
  std::int64_t after = 0;
};
using CallFaults = std::map<std::string, CallFault, std::less<>>;

// A map from names of calls to `{result: CODE or hang or abort, after: N}`. `code`: how the library calls
// what its functions return.
[[nodiscard]] CallFaults read_call_faults(const YamlNode& node, const std::string& code,
                                          YamlProblems& problems);

// Does it: gives the code, or never returns.
[[nodiscard]] int act(const CallFault& fault);

}  // namespace autopilot::simulator::cuda
