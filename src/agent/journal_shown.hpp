// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/snapshot.hpp"
#include "store/journal_writer.hpp"

namespace autopilot::agent {

// What the node's own state says of a journal. A lag below EventLog::kPatience is shown as none: it is over
// before a snapshot with it is read, and nothing would take it back.
void show_journal(const store::WriterStatus& journal, SelfStatus& self);
// Whether a snapshot that says `shown` must be made anew for `now` to be known.
[[nodiscard]] bool is_journal_news(const SelfStatus& shown, const SelfStatus& now);

}  // namespace autopilot::agent
