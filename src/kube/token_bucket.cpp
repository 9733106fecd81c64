// SPDX-License-Identifier: Apache-2.0
#include "kube/token_bucket.hpp"

#include <algorithm>

namespace autopilot::kube {

bool TokenBucket::take(MonoTime now) {
  if (next(now) > now) return false;
  paid_ = std::max(paid_, now) + spacing_;
  return true;
}

MonoTime TokenBucket::next(MonoTime now) const {
  return std::max(now, paid_ - credit_);
}

}  // namespace autopilot::kube
