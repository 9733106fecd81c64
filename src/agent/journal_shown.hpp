// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/snapshot.hpp"
#include "store/journal_writer.hpp"

namespace autopilot::agent {

// Writes the status of a journal into the node's own state. A lag below EventLog::kPatience is shown as 0: it
// is over before a client reads the snapshot, and no later snapshot would correct it.
void show_journal(const store::WriterStatus& journal, SelfStatus& self);
// Whether `now` differs from the published state, so that a new snapshot is needed.
[[nodiscard]] bool is_journal_news(const SelfStatus& shown, const SelfStatus& now);

}  // namespace autopilot::agent
