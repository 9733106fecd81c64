// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/jobs/action_ledger.hpp"
#include "core/clock.hpp"
#include "host/process/child_runner.hpp"
#include "jobs/brain.hpp"

namespace autopilot::agent {

// How the attempt of an action ended.
struct ActionResult {
  enum class Kind : std::uint8_t {
    done,
    failed,    // after it was recorded; it is not repeated
    refused,   // it is not possible here, and nothing was done
    repeated,  // an action for this finding was begun before, and nothing was done now
  };
  Kind kind = Kind::refused;
  bool counts = false;  // for the guard rails: something was done, now or before, or may have been
  std::string message;  // what was done, or why not, with the cure
};
[[nodiscard]] std::string_view to_string(ActionResult::Kind kind);

// Carries out actions on jobs of Slurm, each once. Blocks for the disk and for scontrol: use it on a worker,
// one call at a time.
class SlurmActor {
 public:
  // path: of the ledger, which is opened at the first action. scontrol: path of the program.
  SlurmActor(std::shared_ptr<const Clock> clock, std::string path, std::string scontrol);

  // Records the action before the first command, and its end. An action that cannot be recorded, or whose
  // record cannot be read, is refused.
  [[nodiscard]] ActionResult act(const jobs::WantedAction& action);

 private:
  [[nodiscard]] Status open_ledger();
  [[nodiscard]] ActionResult run(ActionEntry entry, const jobs::WantedAction& action);

  const std::shared_ptr<const Clock> clock_;
  const std::string path_;
  const std::string scontrol_;
  std::optional<ActionLedger> ledger_;
  host::ChildRunner runner_;
};

}  // namespace autopilot::agent
