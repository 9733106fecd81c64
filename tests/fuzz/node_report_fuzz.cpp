// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "incidents/node_state.hpp"
#include "report/node_report.hpp"
#include "report/node_report_reader.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::node_report_fuzz {

// Any content of the cluster gives an error, or a state from which the state machine can continue, and which
// is reported again within the limit and taken over again.
int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const auto report = report::parse_report({static_cast<const char*>(bytes), size});
  if (!report) {
    AUTOPILOT_ASSERT(report.error().code == Errc::malformed);
    return 0;
  }
  const std::vector<catalog::Cause> causes;
  incidents::NodeState state([](std::string_view) { return nullptr; }, causes, "0a1b2c3d-boot");
  const Instant now{WallTime{std::chrono::seconds{1'700'000'000}}, MonoTime{std::chrono::hours{100}}};
  static_cast<void>(state.restore(report->saved, now));
  NodeSnapshot snapshot;
  snapshot.node = report->node;
  snapshot.boot_id = report->boot_id;
  snapshot.simulated = report->simulated;
  snapshot.time = report->observed_at;
  const auto saved = state.save();
  const std::string text =
      report::report_text({snapshot, saved, report->written.value_or(incidents::WrittenVerdict{}),
                           report->pass_records, "autopilot", "uid"});
  AUTOPILOT_ASSERT(text.size() <= report::kMaxReportBytes);
  AUTOPILOT_ASSERT(!report::is_news(text, text));
  const auto again = report::parse_report(text);
  constexpr std::uint64_t kFarFromTheEnd = 10'000'000'000;  // of what may be counted
  if (saved.next_incident > kFarFromTheEnd) return 0;
  AUTOPILOT_ASSERT(again.has_value());
  AUTOPILOT_ASSERT(again->saved.incidents.size() <= saved.incidents.size());
  return 0;
}

}  // namespace autopilot::node_report_fuzz
