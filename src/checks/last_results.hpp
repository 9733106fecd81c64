// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "checks/check.hpp"

namespace autopilot::checks {

// The results of the last diagnostic of that check (host/tests/results.hpp). Each gets the time of this run,
// because it is the current knowledge, and the end of its diagnostic, if that has ended, as attribute
// `testedAt`. Errors as TestResults::last.
[[nodiscard]] Result<Observed> last_results(const host::Host& host, const Request& request,
                                            std::string_view check, std::string_view witness);

// Adds the time of each result, which is the end of its diagnostic, as attribute `testedAt`.
void note_tested(Observations& results);

// Description of a check that judges such results. Running it is cheap, because it only reads stored results.
// `domain` is its tag beside "active".
[[nodiscard]] CheckInfo active_check_info(std::string_view id, std::string title, std::string_view domain,
                                          std::string_view witness,
                                          Duration period = std::chrono::seconds{60});

// Expected form of such results: one word about the diagnostic as a whole, and values for each subject.
struct ResultForm {
  std::string_view outcome;                    // observation about the host
  std::span<const std::string_view> outcomes;  // its valid words; the first means that the diagnostic ended
  std::string_view nothing_to_test;  // the word for a machine without a subject to test; empty: no such word
  std::span<const std::string_view> found;  // each tested subject has at least one of these
  std::span<const std::string_view> words;  // valid values; empty: the values are numbers
};

// Adds a finding for each result that cannot be used: a value that could not be read, an unknown word, text
// instead of a number, a subject without any of `found`, and a diagnostic without a result for any subject.
// Such a node is not healthy.
void add_unusable(const JudgeInput& input, const ResultForm& form, Findings& findings);

}  // namespace autopilot::checks
