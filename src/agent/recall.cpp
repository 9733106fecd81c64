// SPDX-License-Identifier: Apache-2.0
#include "agent/recall.hpp"

#include <utility>

#include "core/parse.hpp"

namespace autopilot::agent {
namespace {

constexpr std::size_t kMaxIncidents = 1024;

// "<boot id>/<number>"; 0 when it is of another boot.
std::uint64_t number_of_boot(std::string_view text, std::string_view boot_id) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos || text.substr(0, slash) != boot_id) return 0;
  return parse_number<std::uint64_t>(text.substr(slash + 1)).value_or(0);
}

}  // namespace

Result<runtime::Remembered> recall(const store::Journal& journal, const std::string& boot_id,
                                   std::span<const checks::Check> checks) {
  runtime::Remembered remembered;
  for (store::StoredFinding& stored : TRY(journal.findings()))
    remembered.state.findings.push_back({std::move(stored.check), std::move(stored.finding),
                                         std::move(stored.boot_id), std::move(stored.state)});
  for (Incident& incident : TRY(journal.incidents(false, kMaxIncidents)))
    remembered.state.incidents.push_back(std::move(incident));
  const auto next_incident = TRY(journal.value("incidents.next"));
  if (next_incident) remembered.state.next_incident = parse_number<std::uint64_t>(*next_incident).value_or(1);
  remembered.last_samples = TRY(journal.last_samples(boot_id));
  remembered.last_event_id = TRY(journal.last_event_id());
  store::EventQuery latest;
  latest.limit = runtime::EventLog::kKept;
  latest.after_id =
      remembered.last_event_id > latest.limit ? remembered.last_event_id - latest.limit : std::uint64_t{0};
  remembered.events = TRY(journal.events(latest));
  remembered.gpu_resets = TRY(journal.value("gpu.resets")).value_or("");
  for (const checks::Check& check : checks) {
    const std::string& id = check.info.id;
    const auto position = TRY(journal.value("kernel_log.position/" + id));
    if (position) remembered.kernel_log_positions[id] = number_of_boot(*position, boot_id);
    const auto untold = TRY(journal.value("kernel_log.untold/" + id));
    if (untold) remembered.kernel_log_untold[id] = number_of_boot(*untold, boot_id);
  }
  return remembered;
}

Result<ClusterMemory> recall_for_cluster(const store::Journal& journal) {
  ClusterMemory memory;
  if (const auto written = TRY(journal.value(kWrittenVerdict)))
    memory.written = incidents::parse_written_verdict(*written);
  memory.pass_records = TRY(journal.pass_records());
  return memory;
}

}  // namespace autopilot::agent
