// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::probes::net {

// More samples in one test than this probe asks for.
inline constexpr std::size_t kMostSamples = 3600;

struct Sample {
  double seconds = 0;  // that it lasted
  double bits_per_second = 0;
};

// One way of a test.
struct OneWay {
  double sent_bits_per_second = 0;      // by the word of who sent
  double received_bits_per_second = 0;  // by the word of who received
  std::optional<std::int64_t> retransmits;
  std::vector<Sample> samples;  // of what arrived; none of what was omitted
};

// What one client process measured. All numbers are of the report; none is a default for one that is not
// there.
struct IperfResult {
  std::optional<OneWay> to_peer;
  std::optional<OneWay> from_peer;
  std::optional<double> cpu_percent;  // of one processor
  std::optional<double> peer_cpu_percent;
  std::optional<std::int64_t> mss_bytes;
  std::string version;       // "iperf 3.12"
  std::string peer_version;  // empty where the peer does not say
};

// Reads a report of iperf3 3.x (JSON) of a client whose test over TCP came to its end. malformed: it is none,
// a number that belongs there is missing, is no number, or no amount; the text names it. exhausted: more than
// kMostSamples.
[[nodiscard]] Result<IperfResult> parse_iperf_result(std::string_view report_text);

}  // namespace autopilot::probes::net
