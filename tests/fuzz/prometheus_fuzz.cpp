// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collect/progress/prometheus.hpp"
#include "collect/progress/serving_figures.hpp"
#include "core/result.hpp"
#include "host/sockets/http_get.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::prometheus_fuzz {

// Any answer of a server gives finite values, and rates that are not negative.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  collect::read_prometheus(text, [](const collect::PrometheusSample& sample) {
    AUTOPILOT_ASSERT(!sample.name.empty() && std::isfinite(sample.value));
    AUTOPILOT_ASSERT(sample.labels.size() <= collect::PrometheusSample::kMaxLabels);
  });
  if (const auto figures = collect::read_serving_figures(text)) {
    AUTOPILOT_ASSERT(figures->running >= 0 && figures->waiting >= 0);
    const auto record = collect::serving_between({}, *figures, 5);
    AUTOPILOT_ASSERT(record.tokens_s.value_or(0) >= 0 && record.requests_s.value_or(0) >= 0);
  }
  if (const auto body = host::parse_http_answer(text)) AUTOPILOT_ASSERT(body->size() <= size);
  return 0;
}

}  // namespace autopilot::prometheus_fuzz
