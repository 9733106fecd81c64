// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/snapshot.hpp"
#include "learning/adoption/version.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The kinds of machine of the GPUs of this node, as their measurements have them.
class KnownKinds {
 public:
  // Empty: not known yet. What no check can read any longer, for example while the driver does not answer,
  // stays as it was.
  std::set<std::string> learn(const NodeSnapshot& snapshot);

 private:
  std::map<Subject, std::string> kinds_;
};

// The thresholds among `versions` that concern all of these kinds: what this node uses, and what is in shadow
// or in a canary of other nodes. Of several for one threshold, the one for the most specific kind. Pure.
[[nodiscard]] runtime::LearnedThresholds learned_thresholds(std::span<const learning::Version> versions,
                                                            const std::set<std::string>& kinds,
                                                            std::string_view node);

}  // namespace autopilot::agent
