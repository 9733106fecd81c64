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

// When an incident had to do with that GPU or a part of it, the last time: it began, a finding joined it, or
// the driver told of it again. Nothing: it has not, or somebody only tried it out.
[[nodiscard]] std::optional<WallTime> last_touched(const Incident& incident, const Subject& gpu);

// Which tests the GPUs of this machine have passed. An incident takes those away that its GPUs passed before
// it: they prove nothing any more, also when it is over. On the loop's thread.
class PassBook {
 public:
  // remember: for the journal; one without a time stands in place of one that was taken away.
  PassBook(std::vector<PassRecord> known,
           std::function<void(const std::vector<PassRecord>& records)> remember);

  void add(const std::vector<PassRecord>& records);
  // What an earlier agent left, found late: what is known here is newer.
  void add_older(const std::vector<PassRecord>& records);
  void note(const NodeSnapshot& snapshot);

  [[nodiscard]] const std::vector<PassRecord>& records() const { return records_; }

 private:
  std::vector<PassRecord> records_;
  const std::function<void(const std::vector<PassRecord>& records)> remember_;
};

}  // namespace autopilot::diagnostics
