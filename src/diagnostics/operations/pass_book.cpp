// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/pass_book.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::diagnostics {
namespace {

// The GPU itself, or "<gpu>/...".
bool is_of(const Subject& subject, const Subject& gpu) {
  if (!incidents::is_accelerator_part(subject.kind)) return false;
  return subject.key.substr(0, subject.key.find('/')) == gpu.key;
}

bool has_time(const PassRecord& record) {
  return record.time != WallTime{};
}

}  // namespace

std::optional<WallTime> last_touched(const Incident& incident, const Subject& gpu) {
  if (incident.injected) return std::nullopt;
  std::optional<WallTime> last;
  const auto note = [&last](WallTime time) { last = std::max(last.value_or(time), time); };
  if (is_of(incident.blamed, gpu)) note(incident.opened);
  for (const IncidentMember& member : incident.members) {
    const Finding& finding = member.finding;
    if (finding.injected || !is_of(finding.subject, gpu)) continue;
    note(is_record(finding) ? std::max(finding.since, finding.last_seen) : finding.since);
  }
  return last;
}

PassBook::PassBook(std::vector<PassRecord> known,
                   std::function<void(const std::vector<PassRecord>& records)> remember)
    : records_(std::move(known)), remember_(std::move(remember)) {
  std::erase_if(records_, [](const PassRecord& one) { return !has_time(one); });
}

void PassBook::add(const std::vector<PassRecord>& records) {
  if (records.empty()) return;
  add_pass_records(records_, records);
  remember_(records);
}

void PassBook::add_older(const std::vector<PassRecord>& records) {
  std::vector<PassRecord> news;
  std::ranges::copy_if(records, std::back_inserter(news), [this](const PassRecord& old) {
    return has_time(old) && std::ranges::none_of(records_, [&old](const PassRecord& known) {
             return is_same_test(known, old);
           });
  });
  add(news);
}

void PassBook::note(const NodeSnapshot& snapshot) {
  if (records_.empty() || snapshot.incidents.empty()) return;
  std::vector<PassRecord> taken;
  for (const Subject& gpu : gpus_in(snapshot)) {
    for (const Incident& incident : snapshot.incidents) {
      const auto touched = last_touched(incident, gpu);
      if (!touched) continue;
      for (const PassRecord& record : records_)
        if (record.gpu_uuid == gpu.uuid && record.time <= *touched) taken.push_back(record);
    }
  }
  if (taken.empty()) return;
  for (PassRecord& record : taken) {
    std::erase_if(records_, [&record](const PassRecord& old) { return is_same_test(old, record); });
    record.time = {};
  }
  remember_(taken);
}

}  // namespace autopilot::diagnostics
