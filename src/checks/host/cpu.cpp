// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/rule_findings.hpp"
#include "checks/seen.hpp"
#include "core/id_list.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "host.cpu";
constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::string_view kPresent = "cpu.present";
constexpr std::string_view kOnline = "cpu.online";
constexpr std::string_view kSmt = "cpu.smt";
// Followed by the number of the package.
constexpr std::string_view kThrottled = "cpu.throttled.package";

Result<std::vector<int>> ids_in(const host::Files& files, std::string_view name) {
  const std::string path = std::string(kCpus) + "/" + std::string(name);
  const std::string text = TRY(files.read(path));
  auto ids = parse_id_list(text);
  if (!ids) return fail(ids.error().code, path + ": " + ids.error().what);
  return ids;
}

void add_count(const Result<std::vector<int>>& ids, std::string_view name, Seen& seen) {
  if (ids)
    seen.add(host_subject(), name, kCpus, static_cast<std::int64_t>(ids->size()), "count");
  else
    seen.add_missing(host_subject(), name, kCpus, to_string(ids.error().code), ids.error().what);
}

// How long each package has slowed itself down because of heat. Its processors all show the same counter, so
// the first one speaks; AMD, virtual machines and old kernels have none.
void add_throttling(const host::Files& files, const std::vector<int>& online, Seen& seen) {
  std::set<std::int64_t> packages;
  for (const int cpu : online) {
    const std::string folder = std::string(kCpus) + "/cpu" + std::to_string(cpu);
    const auto package = files.read_integer(folder + "/topology/physical_package_id");
    if (!package || !packages.insert(*package).second) continue;
    const auto throttled = files.read_integer(folder + "/thermal_throttle/package_throttle_total_time_ms");
    if (!throttled || *throttled < 0) continue;
    seen.add(host_subject(), std::string(kThrottled) + std::to_string(*package), kCpus,
             static_cast<double>(*throttled) / 1000, "s");
  }
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  // The line says that it is too hot; how many work and how fast is known without it.
  const Status log = add_rule_events(host, request, kId, observed);
  const auto online = ids_in(host.files, "online");
  if (!online && !log) return fail(online.error());
  Seen seen(request.now);
  add_count(ids_in(host.files, "present"), kPresent, seen);
  add_count(online, kOnline, seen);
  if (online) {
    observed.witnesses.insert(observed.witnesses.begin(), std::string(kCpus));
    add_throttling(host.files, *online, seen);
  }
  if (const auto smt = host.files.read_word(std::string(kCpus) + "/smt/control"))
    seen.add(host_subject(), kSmt, kCpus, *smt);
  Observations numbers = seen.take();
  observed.observations.insert(observed.observations.end(), std::make_move_iterator(numbers.begin()),
                               std::make_move_iterator(numbers.end()));
  return observed;
}

// Without simultaneous multithreading every second one is off because somebody wants it so.
bool is_smt_switched_off(const History& history) {
  const std::string smt = history.word(host_subject(), kSmt).value_or("");
  return smt == "off" || smt == "forceoff";
}

void judge_offline(const JudgeInput& input, Findings& findings) {
  const auto present = input.history.number(host_subject(), kPresent);
  const auto online = input.history.number(host_subject(), kOnline);
  if (!present || !online || *online >= *present || is_smt_switched_off(input.history)) return;
  Finding finding =
      make_finding(input, host_subject(), "cpu_offline", Health::degraded,
                   rounded(*present - *online) + " of " + rounded(*present) + " processors are switched off");
  finding.evidence = {{"value", *online}, {"present", *present}, {"witness", std::string(kCpus)}};
  findings.push_back(std::move(finding));
}

void judge_throttling(const JudgeInput& input, Findings& findings) {
  const Limit most = limit(input, "host.cpu.throttled_share");
  for (const Observation& observation : input.history.latest()) {
    if (!observation.name.starts_with(kThrottled)) continue;
    const auto growth = input.history.growth(host_subject(), observation.name, input.now, 10min);
    if (!growth) continue;
    const double share = std::min(growth->delta / to_seconds(growth->interval), 1.0);
    if (share <= most.value) continue;
    const auto interval = std::chrono::duration_cast<std::chrono::seconds>(growth->interval);
    Finding finding = make_finding(input, host_subject(), "cpu_throttled", Health::degraded,
                                   "processor package " + observation.name.substr(kThrottled.size()) +
                                       " slowed itself down because of heat for " + percent(share) +
                                       " of the last " + format_duration(interval),
                                   share, most);
    finding.evidence.emplace_back("package", observation.name.substr(kThrottled.size()));
    findings.push_back(std::move(finding));
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  judge_offline(input, findings);
  judge_throttling(input, findings);
  return findings;
}

}  // namespace

const Check kHostCpu{{.id = std::string(kId),
                      .title = "Processors",
                      .tags = {"host", "kernel_log", "performance", "passive"},
                      .period = 60s,
                      .deadline = 5s,
                      .window = 30min,
                      .cost = Cost::cheap,
                      .witnesses = {std::string(kCpus), "/dev/kmsg"},
                      .rights = {"CAP_SYSLOG"},
                      .needs_window = true},
                     observe,
                     judge};

}  // namespace autopilot::checks
