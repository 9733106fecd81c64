// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checks/check.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

// Growth of a counter in the limit's unit (count, per_second, per_minute, per_hour) when it is above the
// limit; nothing when it is not, or cannot be told yet. A rate counts only when at least what it allows in a
// minute (of an hourly rate: in an hour) was seen, so that one bad moment between two close looks is none.
[[nodiscard]] std::optional<double> growth_above(const JudgeInput& input, const Subject& subject,
                                                 std::string_view counter, const Limit& limit,
                                                 Duration window);

// Which counters of the catalog a check reads: ids begin with `family`, paths with `folder`.
struct CounterGroup {
  std::string_view family;  // "infiniband."
  std::string_view folder;  // "counters/"
  [[nodiscard]] bool holds(const catalog::Counter& counter) const {
    return counter.id.starts_with(family) && counter.path.starts_with(folder);
  }
};

// Why the counters of a port were not read: the word of an observation that is missing.
inline constexpr std::string_view kSpared = "spared";

// Reads them for one port. Every counter is a question to the firmware: after the first refusal nothing more
// is asked, and an adapter that complains about questions is asked none. Gives how many answered.
std::size_t add_port_counters(const host::Host& host, const host::IbPort& port, const Subject& subject,
                              const CounterGroup& group, MonoTime deadline, ObservationBuilder& seen);

// Why the growth of some counter of a port is not known, for a person: it was not answered, or stands at the
// largest value of its width ("symbol_error stands at its largest value, 65535"). Nothing: all of them tell.
[[nodiscard]] std::optional<std::string> why_untold(const JudgeInput& input, const Subject& subject,
                                                    const CounterGroup& group, Duration window);

// A counter that grows faster than its threshold, or did until it reached the largest value of its width.
struct FastCounter {
  const catalog::Counter* counter = nullptr;
  double growth = 0;  // in the unit of the limit
  Limit most;
};
// Those of a port, in the catalog's order.
[[nodiscard]] std::vector<FastCounter> fast_counters(const JudgeInput& input, const Subject& subject,
                                                     const CounterGroup& group, Duration window);

[[nodiscard]] Subject port_subject(std::string key);

// What `judge_port` says of each port of the last round that the operator does not ignore.
[[nodiscard]] Findings judge_ports(const JudgeInput& input,
                                   Findings (*judge_port)(const JudgeInput& input, const Subject& port));

// "symbol_error" of "counters/symbol_error".
[[nodiscard]] std::string counter_name(const catalog::Counter& counter);

}  // namespace autopilot::checks
