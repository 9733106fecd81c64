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

// More samples than this probe requests in one test.
inline constexpr std::size_t kMostSamples = 3600;

struct Sample {
  double seconds = 0;  // duration
  double bits_per_second = 0;
};

// One direction of a test.
struct OneWay {
  double sent_bits_per_second = 0;      // from the sender
  double received_bits_per_second = 0;  // from the receiver
  std::optional<std::int64_t> retransmits;
  std::vector<Sample> samples;  // of received data, without the omitted seconds
};

// Results of one client process. All numbers are from the report; a missing number is not replaced by a
// default.
struct IperfResult {
  std::optional<OneWay> to_peer;
  std::optional<OneWay> from_peer;
  std::optional<double> cpu_percent;  // of one processor
  std::optional<double> peer_cpu_percent;
  std::optional<std::int64_t> mss_bytes;
  std::string version;       // "iperf 3.12"
  std::string peer_version;  // empty if the peer does not report it
};

// Parses the JSON report of an iperf3 3.x client whose TCP test has finished. malformed: not such a report,
// or a number is missing or invalid; the text names it. exhausted: more than kMostSamples.
[[nodiscard]] Result<IperfResult> parse_iperf_result(std::string_view report_text);

}  // namespace autopilot::probes::net
