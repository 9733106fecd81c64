// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checks/check.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

// Growth of a counter in the limit's unit (count, per_second, per_minute, per_hour) if it is above the limit;
// nullopt if it is not, or too few values are known. A rate is taken over at least a minute (an hourly rate:
// an hour), so that a short burst between two close runs does not exceed it.
[[nodiscard]] std::optional<double> growth_above(const JudgeInput& input, const Subject& subject,
                                                 std::string_view counter, const Limit& limit,
                                                 Duration window);

// Counters of the catalog that a check reads: ids begin with `family`, paths with `folder`.
struct CounterGroup {
  std::string_view family;  // "infiniband."
  std::string_view folder;  // "counters/"
  [[nodiscard]] bool holds(const catalog::Counter& counter) const {
    return counter.id.starts_with(family) && counter.path.starts_with(folder);
  }
};

// Why the counters of a port were not read: `missing` of an observation.
inline constexpr std::string_view kSpared = "spared";

// Reads the counters of one port. Every counter is a command to the firmware: reading stops at the first
// error, and adapters whose firmware logs errors are not read. Returns the number of counters read.
std::size_t add_port_counters(const host::Host& host, const host::IbPort& port, const Subject& subject,
                              const CounterGroup& group, MonoTime deadline, ObservationBuilder& seen);

// Why the growth of a counter of the port is unknown, as text: it could not be read, or it is at the maximum
// of its width ("symbol_error is at its maximum, 65535, and cannot grow"). nullopt: all are readable.
[[nodiscard]] std::optional<std::string> why_unread(const JudgeInput& input, const Subject& subject,
                                                    const CounterGroup& group, Duration window);

// A counter that grows faster than its threshold, or did until it reached the maximum of its width.
struct FastCounter {
  const catalog::Counter* counter = nullptr;
  double growth = 0;  // in the unit of the limit
  Limit most;
};
// The fast counters of a port, in the catalog's order.
[[nodiscard]] std::vector<FastCounter> fast_counters(const JudgeInput& input, const Subject& subject,
                                                     const CounterGroup& group, Duration window);

[[nodiscard]] Subject port_subject(std::string key);

// Findings of `judge_port` for each port of the last run that the operator does not ignore.
[[nodiscard]] Findings judge_ports(const JudgeInput& input,
                                   Findings (*judge_port)(const JudgeInput& input, const Subject& port));

// "symbol_error" of "counters/symbol_error".
[[nodiscard]] std::string counter_name(const catalog::Counter& counter);

}  // namespace autopilot::checks
