// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/meeting.hpp"

namespace autopilot::probes::gpu {

bool Meeting::meet(std::size_t member) {
  std::unique_lock lock(mutex_);
  const std::size_t round = round_;
  arrived_[member] = true;
  open_when_complete();
  opened_.wait(lock, [&] { return round_ != round || !present_[member]; });
  return present_[member];
}

void Meeting::leave(std::size_t member) {
  const std::scoped_lock lock(mutex_);
  present_[member] = false;
  open_when_complete();
  opened_.notify_all();
}

void Meeting::open_when_complete() {
  for (std::size_t i = 0; i < present_.size(); ++i)
    if (present_[i] && !arrived_[i]) return;
  arrived_.assign(arrived_.size(), false);
  ++round_;
  opened_.notify_all();
}

}  // namespace autopilot::probes::gpu
