// SPDX-License-Identifier: Apache-2.0
// What a program of perftest prints, in part the words of the other end: read or refused, and every number of
// what was read is an amount. The same text as help, as the words of a program that failed, and as the
// kernel's table of sockets.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "probes/net/machine/listeners.hpp"
#include "probes/net/perftest/perftest.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::perftest_result_fuzz {
namespace {

using namespace autopilot::probes::net;

bool is_amount(double number) {
  return std::isfinite(number) && number > 0;
}

void check_failure(std::string_view text) {
  const PerftestTest test{.device = {"mlx5_0", 1}, .address = "10.0.0.1", .to = "10.0.0.2", .port = 4000};
  const Failure failure = failure_of_end(test, {.code = 1, .signal = {}}, text);
  AUTOPILOT_ASSERT(!failure.text.empty() && failure.text.size() <= kLongestFailure);
  AUTOPILOT_ASSERT(is_printable(failure.text) && !to_string(failure.reason).empty());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bandwidth = parse_perftest_bandwidth(text))
    AUTOPILOT_ASSERT(is_amount(*bandwidth) && *bandwidth < 1e15);
  if (const auto latency = parse_perftest_latency(text)) {
    AUTOPILOT_ASSERT(is_amount(latency->typical_microseconds) && is_amount(latency->p99_microseconds));
    AUTOPILOT_ASSERT(is_amount(latency->max_microseconds));
    AUTOPILOT_ASSERT(latency->max_microseconds >= latency->p99_microseconds);
  }
  check_failure(text);
  (void)source_option_in(text);
  for (const Listener& listener : listeners_in(text))
    AUTOPILOT_ASSERT(listener.port >= 0 && listener.port <= 65535);
  return 0;
}

}  // namespace autopilot::perftest_result_fuzz
