// SPDX-License-Identifier: Apache-2.0
#include "runtime/inbox.hpp"

#include <utility>

namespace autopilot::runtime {

void Inbox::put(Finished one) {
  const std::lock_guard lock(mutex_);
  mail_.finished.push_back(std::move(one));
  if (wake_) wake_();
}

void Inbox::put(Committed one) {
  const std::lock_guard lock(mutex_);
  mail_.committed.push_back(one);
  if (wake_) wake_();
}

Inbox::Mail Inbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(mail_, {});
}

void Inbox::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

}  // namespace autopilot::runtime
