// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/step_guard.hpp"

namespace autopilot::collect {

StepGuard::Move StepGuard::next(std::int64_t step) {
  if (step < 0 || step > kMaxStep) return Move::ignored;
  if (!step_ || (step > *step_ && step - *step_ <= kMaxJump)) {
    step_ = step;
    candidate_.reset();
    return Move::advance;
  }
  if (step == *step_) return Move::same;
  if (candidate_ == step) return Move::ignored;
  const bool follows = candidate_ && step > *candidate_ && step - *candidate_ <= kMaxJump;
  confirmed_ = follows ? confirmed_ + 1 : 1;
  candidate_ = step;
  if (confirmed_ < kConfirmations) return Move::ignored;
  step_ = step;
  candidate_.reset();
  return Move::restart;
}

}  // namespace autopilot::collect
