// SPDX-License-Identifier: Apache-2.0
// The report of a measuring process about a test with an untrusted peer: parsed or refused, and every parsed
// number is finite and not negative.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/result.hpp"
#include "probes/net/iperf/program.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::iperf_result_fuzz {
namespace {

using namespace autopilot::probes::net;

bool is_amount(double number) {
  return std::isfinite(number) && number >= 0;
}

void check(const std::optional<Direction>& way) {
  if (!way) return;
  AUTOPILOT_ASSERT(is_amount(way->sent_bits_per_second) && is_amount(way->received_bits_per_second));
  AUTOPILOT_ASSERT(way->retransmits.value_or(0) >= 0);
  AUTOPILOT_ASSERT(way->samples.size() <= kMostSamples);
  for (const Sample& sample : way->samples)
    AUTOPILOT_ASSERT(is_amount(sample.seconds) && is_amount(sample.bits_per_second));
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)read_server_output(text);
  const auto read = read_client_output(text, "peer");
  if (const Failure* failure = std::get_if<Failure>(&read)) {
    AUTOPILOT_ASSERT(!failure->text.empty() && !to_string(failure->reason).empty());
    return 0;
  }
  const IperfResult& result = std::get<IperfResult>(read);
  AUTOPILOT_ASSERT(result.to_peer || result.from_peer);
  check(result.to_peer);
  check(result.from_peer);
  return 0;
}

}  // namespace autopilot::iperf_result_fuzz
