// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/incident.hpp"
#include "core/operation.hpp"
#include "core/snapshot.hpp"
#include "core/subject.hpp"

namespace autopilot::diagnostics {

// The last time that the incident concerned that GPU or a part of it: it began, a finding joined it, or the
// driver reported it again. Not set: it does not concern the GPU, or it is injected.
[[nodiscard]] std::optional<WallTime> last_touched(const Incident& incident, const Subject& gpu);

// Pass records of this machine's GPUs. An incident removes the earlier records of its GPUs for good: after a
// fault they prove nothing. On the event loop's thread.
class PassBook {
 public:
  // remember: writes to the journal; a record without a time replaces a removed one.
  PassBook(std::vector<PassRecord> known,
           std::function<void(const std::vector<PassRecord>& records)> remember);

  void add(const std::vector<PassRecord>& records);
  // Records of an earlier agent that were read late; the present records are newer and remain.
  void add_older(const std::vector<PassRecord>& records);
  void note(const NodeSnapshot& snapshot);

  [[nodiscard]] const std::vector<PassRecord>& records() const { return records_; }

 private:
  std::vector<PassRecord> records_;
  const std::function<void(const std::vector<PassRecord>& records)> remember_;
};

}  // namespace autopilot::diagnostics
