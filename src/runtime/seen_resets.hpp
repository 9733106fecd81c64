// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/observation.hpp"

namespace autopilot::runtime {

// The last reset of each GPU that looks proved and no driver's record told, for judges who otherwise know the
// records alone.
class SeenResets {
 public:
  // For one boot; what `journaled` says of another boot is forgotten.
  SeenResets(std::string boot_id, std::string_view journaled);

  void add(const Subject& gpu, MonoTime time) { times_[gpu.key] = time; }
  // For the journal.
  [[nodiscard]] std::string to_text() const;
  // An event for each, as checks::reset_in knows it. `now` places them on the wall clock.
  [[nodiscard]] Observations events(Instant now) const;

 private:
  std::string boot_id_;
  std::map<std::string, MonoTime, std::less<>> times_;  // by PCI address
};

}  // namespace autopilot::runtime
