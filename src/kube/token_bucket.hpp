// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"

namespace autopilot::kube {

// So many at once, then one every so often. Pure. Full at the start.
class TokenBucket {
 public:
  // burst >= 1. A spacing of 0 limits nothing.
  TokenBucket(int burst, Duration spacing) : credit_((burst - 1) * spacing), spacing_(spacing) {}

  // Whether one may pass; if so it has passed.
  [[nodiscard]] bool take(MonoTime now);
  // When the next one may pass: `now` or later.
  [[nodiscard]] MonoTime next(MonoTime now) const;

 private:
  Duration credit_;
  Duration spacing_;
  MonoTime paid_{};  // when all that passed would have passed without a burst
};

}  // namespace autopilot::kube
