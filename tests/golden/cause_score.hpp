// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "golden/cause_labels.hpp"
#include "golden/cause_story.hpp"

namespace autopilot::golden {

// How one label was met; the first word that fits.
enum class Meeting : std::uint8_t { right, missed, merged, wrong_cause, wrong_end, incomplete };

[[nodiscard]] std::string_view to_string(Meeting outcome);

struct Answer {
  std::string family;    // of the label, its first
  std::string answered;  // the reported family; empty: no incident
  Meeting outcome = Meeting::right;
  std::string why;  // empty where it is right
};

struct Score {
  std::vector<Answer> answers;        // one for each label that had to be met or was answered
  std::vector<std::string> invented;  // incidents without a label, and other wrong reports
  [[nodiscard]] bool is_right() const;
};

// The kind of cause, in the words of the labels.
[[nodiscard]] std::string family_of(const Incident& incident);

[[nodiscard]] Score compare(const Labels& labels, const Story& story);

}  // namespace autopilot::golden
