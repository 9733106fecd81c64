// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_reboot {
namespace {

constexpr std::string_view kId = "host.reboot";
constexpr std::string_view kPstore = "pstore";
// Followed by the number of the record, the newest first.
constexpr std::string_view kRecord = "crash_record.";
constexpr std::string_view kRecords = "crash_records";
constexpr std::string_view kLines = "reboot.lines";  // new in this run
// Only if permission to read some records is missing.
constexpr std::string_view kWords = "crash_records.words";
// Only if some records could not be unpacked.
constexpr std::string_view kPacked = "crash_records.packed";
constexpr std::size_t kMostShown = 8;

void add_records(const host::CrashRecords& crashes, ObservationBuilder& seen) {
  seen.add(host_subject(), kRecords, kPstore,
           static_cast<std::int64_t>(crashes.records.size() + crashes.left_out), "count");
  const std::size_t shown = std::min(crashes.records.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const host::CrashRecord& record = crashes.records[crashes.records.size() - 1 - i];
    auto& observation =
        seen.add(host_subject(), std::string(kRecord) + std::to_string(i), kPstore, record.words);
    observation.attributes = {{"path", record.path}, {"panic", record.is_panic}};
    if (record.time)
      observation.attributes.emplace_back(
          "writtenAt",
          std::chrono::duration_cast<std::chrono::seconds>(record.time->time_since_epoch()).count());
  }
}

// A record that could not be read may be about any event.
void add_unreadable(const host::CrashRecords& crashes, ObservationBuilder& seen) {
  if (crashes.unreadable > 0)
    seen.add_missing(host_subject(), kWords, kPstore, "denied",
                     std::to_string(crashes.unreadable) + " crash records: permission to read is missing");
  if (crashes.packed > 0)
    seen.add_missing(host_subject(), kPacked, kPstore, "malformed",
                     std::to_string(crashes.packed) +
                         " crash records could not be unpacked by this kernel: they may be about a crash");
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  const Status log = add_rule_events(host, request, kId, observed);
  const auto crashes = host::read_crash_records(host.files);
  if (!crashes && !log) {
    const bool is_there = crashes.error().code != Errc::unsupported;
    return fail(is_there ? crashes.error() : log.error());
  }
  ObservationBuilder seen(request.now);
  if (log)
    seen.add(host_subject(), kLines, observed.witnesses.front(),
             static_cast<std::int64_t>(observed.observations.size()), "count");
  if (crashes) {
    observed.witnesses.insert(observed.witnesses.begin(), std::string(kPstore));
    add_records(*crashes, seen);
    add_unreadable(*crashes, seen);
  } else if (crashes.error().code != Errc::unsupported) {
    seen.add_missing(host_subject(), kRecords, kPstore, to_string(crashes.error().code),
                     crashes.error().what);
  }
  std::ranges::move(seen.take(), std::back_inserter(observed.observations));
  return observed;
}

// A record of unknown age counts as new until it is deleted.
bool is_recent(const Observation& record, WallTime now, const Limit& longest) {
  const Value* written = find_attribute(record.attributes, "writtenAt");
  const auto seconds = written == nullptr ? std::nullopt : as_number(*written);
  return !seconds || to_seconds(now.time_since_epoch()) - *seconds <= longest.value;
}

void judge_unreadable(const JudgeInput& input, Findings& findings) {
  const Observation* words = input.history.find(host_subject(), kWords);
  if (words == nullptr || words->value) return;
  findings.push_back(make_finding(input, host_subject(), "not_permitted", Health::unknown,
                                  "a crash record exists, but permission to read it is missing (needs "
                                  "CAP_DAC_READ_SEARCH)"));
}

void judge_crashes(const JudgeInput& input, Findings& findings) {
  const Limit longest = limit(input, "host.reboot.told_for");
  const Observation* newest = nullptr;
  std::size_t count = 0;
  for (const Observation& seen : input.history.latest()) {
    if (!seen.name.text().starts_with(kRecord) || attribute_of(seen, "panic") != "true") continue;
    if (!is_recent(seen, input.now.wall, longest)) continue;
    if (newest == nullptr || seen.name < newest->name) newest = &seen;
    ++count;
  }
  if (newest == nullptr) return;
  const std::string words = input.history.word(host_subject(), newest->name).value_or("");
  std::string message = "the kernel crashed before this boot";
  if (!words.empty()) message += ": " + words;
  if (count > 1) message += " (" + std::to_string(count) + " records)";
  Finding finding =
      make_finding(input, host_subject(), "kernel_crash_record", Health::degraded, std::move(message));
  finding.evidence = {{"record", attribute_of(*newest, "path")}, {"witness", std::string(kPstore)}};
  findings.push_back(std::move(finding));
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  judge_crashes(input, findings);
  judge_unreadable(input, findings);
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_reboot

const Check kHostReboot = {
    .info = {.id = std::string(host_reboot::kId),
             .title = "Cause of the last reboot",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::minutes{5},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{72},
             .cost = Cost::cheap,
             .witnesses = {std::string(host_reboot::kPstore), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG", "CAP_DAC_READ_SEARCH"},
             .needs_window = false},
    .observe = host_reboot::observe,
    .judge = host_reboot::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
