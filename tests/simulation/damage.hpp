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

// Does one thing to the files of a journal, of which `older` is an earlier picture; says what. The lock and
// the journal each tell when the other one lacks something: where the disk kept the journal from being
// written, the lock alone knows, and is spared.
[[nodiscard]] std::string damage(Picture& picture, const Picture& older, bool spares_lock,
                                 std::mt19937_64& random);

}  // namespace autopilot::simulation
