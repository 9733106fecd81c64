// SPDX-License-Identifier: Apache-2.0
#include "cuda/call_faults.hpp"

#include <cstdlib>
#include <unistd.h>

#include "core/parse.hpp"

namespace autopilot::simulator::cuda {

CallFaults read_call_faults(const YamlNode& node, const std::string& code, YamlProblems& problems) {
  CallFaults calls;
  for (const YamlMember& member : node.members) {
    YamlMap map(member.value, member.key, problems);
    CallFault fault{.kind = CallFault::Kind::code, .code = 0, .after = map.integer("after").value_or(0)};
    const std::string result = map.required_word("result");
    if (result == "hang")
      fault.kind = CallFault::Kind::hang;
    else if (result == "abort")
      fault.kind = CallFault::Kind::abort;
    else if (const auto number = parse_number<int>(result); number && *number > 0)
      fault.code = *number;
    else
      problems.add(member.line, member.key + ": expected hang, abort or the number of a " + code);
    calls[member.key] = fault;
  }
  return calls;
}

int act(const CallFault& fault) {
  switch (fault.kind) {
    case CallFault::Kind::code:
      return fault.code;
    case CallFault::Kind::abort:
      std::abort();
    case CallFault::Kind::hang:
      break;
  }
  for (;;)
    ::pause();
}

}  // namespace autopilot::simulator::cuda
