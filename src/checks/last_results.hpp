// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "checks/check.hpp"

namespace autopilot::checks {

// What the last active test of that check left (host/tests/results.hpp), each with the moment of this look as
// its time, because it is what is known now, and the end of its test, if one has ended, as the attribute
// `testedAt`. Errors as TestResults::last.
[[nodiscard]] Result<Observed> last_results(const host::Host& host, const Request& request,
                                            std::string_view check, std::string_view witness);

// Gives the results of a test their time, the end of the test, as the attribute `testedAt`.
void note_tested(Observations& results);

// Of a check that tells of such results. To look is cheap, whatever the test did; `domain` is its tag beside
// "active".
[[nodiscard]] CheckInfo active_check_info(std::string_view id, std::string title, std::string_view domain,
                                          std::string_view witness,
                                          Duration period = std::chrono::seconds{60});

// What such results are made of: a word about the test as a whole, and what it found of each subject.
struct ResultForm {
  std::string_view outcome;                    // of the host
  std::span<const std::string_view> outcomes;  // the words that it may be; the first: the test ended
  std::string_view nothing_to_test;            // the one of them that says so; empty: none does
  std::span<const std::string_view> found;     // of each subject that was tested, one of these or more
  std::span<const std::string_view> words;     // that they may be; empty: they are numbers
};

// Adds what makes of results none, in whole or of one subject: what could not be read, a word that nobody
// knows, text in place of a number, a subject of which only other things are told, a test that found nothing
// of anything. Such a node is not healthy.
void add_unusable(const JudgeInput& input, const ResultForm& form, Findings& findings);

}  // namespace autopilot::checks
