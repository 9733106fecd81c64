// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"

namespace autopilot::kube {

// A burst, then one at each spacing. Pure. Full at the start.
class TokenBucket {
 public:
  // burst >= 1. A spacing of 0 means no limit.
  TokenBucket(int burst, Duration spacing) : credit_((burst - 1) * spacing), spacing_(spacing) {}

  // True if a token is available; takes it.
  [[nodiscard]] bool take(MonoTime now);
  // Time of the next token: `now` or later.
  [[nodiscard]] MonoTime next(MonoTime now) const;

 private:
  Duration credit_;
  Duration spacing_;
  MonoTime paid_{};  // time by which all taken tokens are due without a burst
};

}  // namespace autopilot::kube
