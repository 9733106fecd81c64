// SPDX-License-Identifier: Apache-2.0
#include "runtime/fresh_look.hpp"

#include <string>

namespace autopilot::runtime {

bool look_afresh(Runtime& runtime, const Clock& clock, std::string_view check,
                 const std::function<void()>& poll_soon,
                 const std::function<void(const CheckResult&)>& done) {
  const std::string id(check);
  const WallTime asked = clock.now().wall;
  const bool is_asked = runtime.run_now(id, [&runtime, id, poll_soon, done, asked](const CheckResult& seen) {
    if (seen.completed - seen.duration >= asked || !runtime.run_now(id, done)) return done(seen);
    poll_soon();
  });
  if (is_asked) poll_soon();
  return is_asked;
}

}  // namespace autopilot::runtime
