// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <random>
#include <string>

namespace autopilot::simulation {

// All files of a folder, by name: what is there after a process died at this moment.
using Picture = std::map<std::string, std::string>;
[[nodiscard]] Picture picture_of(const std::string& folder);
// The folder holds these files and no other.
void restore(const Picture& picture, const std::string& folder);

// Damages the files of a journal in one respect, and returns a description; `older` is an earlier copy. The
// lock and the journal each show if the other one is incomplete. If the disk prevented writes of the journal,
// only the lock shows this, and is not damaged.
[[nodiscard]] std::string damage(Picture& picture, const Picture& older, bool spares_lock,
                                 std::mt19937_64& random);

}  // namespace autopilot::simulation
