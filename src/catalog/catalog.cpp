// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.hpp"

#include <algorithm>
#include <utility>

#include "core/word_table.hpp"

namespace autopilot::catalog {
namespace {

constexpr WordTable<EvidenceKind, 4> kEvidenceWords{{
    {EvidenceKind::vendor, "vendor"},
    {EvidenceKind::peer, "peer"},
    {EvidenceKind::own, "own"},
    {EvidenceKind::measured, "measured"},
}};

constexpr WordTable<ClearRule, 6> kClearWords{{
    {ClearRule::healthy_rounds, "healthy_rounds"},
    {ClearRule::gpu_reset, "gpu_reset"},
    {ClearRule::reboot, "reboot"},
    {ClearRule::expiry, "expiry"},
    {ClearRule::acknowledged, "acknowledged"},
    {ClearRule::replaced, "replaced"},
}};

constexpr WordTable<RecursAt, 3> kRecursWords{{
    {RecursAt::nowhere, "nowhere"},
    {RecursAt::gpu, "gpu"},
    {RecursAt::unit, "unit"},
}};

constexpr WordTable<StatusMatch, 4> kMatchWords{{
    {StatusMatch::bits, "bits"},
    {StatusMatch::value, "value"},
    {StatusMatch::any, "any"},
    {StatusMatch::reason, "reason"},
}};

template <class Entry, class Id>
const Entry* find_id(const std::vector<Entry>& entries, const Id& id) {
  for (const Entry& entry : entries)
    if (entry.id == id) return &entry;
  return nullptr;
}

template <class Entry>
const Entry* find_sorted_id(const std::vector<Entry>& entries, std::string_view id) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), id,
                                   [](const Entry& entry, std::string_view word) { return entry.id < word; });
  return at != entries.end() && at->id == id ? &*at : nullptr;
}

std::string runs_text(int count) {
  return count == 1 ? "one run" : std::to_string(count) + " runs in a row";
}

}  // namespace

std::string_view to_string(EvidenceKind kind) {
  return word_of(kEvidenceWords, kind);
}

std::optional<EvidenceKind> parse_evidence_kind(std::string_view word) {
  return value_of(kEvidenceWords, word);
}

std::string_view to_string(ClearRule rule) {
  return word_of(kClearWords, rule);
}

std::optional<ClearRule> parse_clear_rule(std::string_view word) {
  return value_of(kClearWords, word);
}

std::string_view to_string(StatusMatch match) {
  return word_of(kMatchWords, match);
}

std::string_view to_string(RecursAt place) {
  return word_of(kRecursWords, place);
}

std::optional<RecursAt> parse_recurs_at(std::string_view word) {
  return value_of(kRecursWords, word);
}

std::optional<StatusMatch> parse_status_match(std::string_view word) {
  return value_of(kMatchWords, word);
}

Health allowed_health(const LogRule& rule, Health health) {
  return rule.unproven && health == Health::failed ? Health::degraded : health;
}

std::string how_it_clears(const Reason& reason) {
  const std::string after =
      reason.clear_after > Duration{0} ? ", after at least " + format_duration(reason.clear_after) : "";
  switch (reason.clear) {
    case ClearRule::healthy_rounds:
      return "after " + runs_text(reason.clear_rounds) + " without it" + after;
    case ClearRule::gpu_reset:
      return "when the GPU is reset or the machine reboots";
    case ClearRule::reboot:
      return "when the machine reboots";
    case ClearRule::expiry:
      return format_duration(reason.clear_after) + " after the last occurrence";
    case ClearRule::acknowledged:
      return "when an operator acknowledges it";
    case ClearRule::replaced:
      return "when the part is replaced (another serial number)";
  }
  return "";
}

const std::vector<std::string>& conditions() {
  static const std::vector<std::string> words{"always", "nvidia_gpu", "amd_gpu", "nvme", "infiniband"};
  return words;
}

const std::vector<std::string>& xid_classes() {
  static const std::vector<std::string> words{"app",  "driver",      "memory",  "pcie",   "nvlink", "c2c",
                                              "fw",   "hw",          "power",   "cc",     "config", "display",
                                              "info", "sympathetic", "verdict", "unknown"};
  return words;
}

const std::vector<std::string>& cause_ends() {
  static const std::vector<std::string> words{"cause", "host", "application"};
  return words;
}

const std::vector<std::string>& log_kinds() {
  static const std::vector<std::string> words{"off_bus",   "aer",         "edac", "mce",   "oom",
                                              "hung_task", "soft_lockup", "nvme", "block", "ext4",
                                              "xfs",       "nfs",         "mlx5", "link",  "other"};
  return words;
}

Catalog::Catalog(Facts facts) : facts_(std::move(facts)) {
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::stable_sort(facts_.thresholds.begin(), facts_.thresholds.end(), by_id);
  std::stable_sort(facts_.reasons.begin(), facts_.reasons.end(), by_id);
  std::stable_sort(facts_.xids.begin(), facts_.xids.end(),
                   [](const Xid& a, const Xid& b) { return a.code < b.code; });
  std::ranges::stable_sort(facts_.sxids, {},
                           [](const Sxid& sxid) { return std::pair(sxid.is_unit(), sxid.code); });
  std::ranges::stable_sort(facts_.link_down_reasons, {}, &LinkDownReason::number);
}

const ActionFacts* Catalog::action(Action id) const {
  return find_id(facts_.actions, id);
}

const Threshold* Catalog::threshold(std::string_view id) const {
  return find_sorted_id(facts_.thresholds, id);
}

const Reason* Catalog::reason(std::string_view id) const {
  return find_sorted_id(facts_.reasons, id);
}

const Xid* Catalog::xid(std::uint32_t code) const {
  const auto at = std::lower_bound(facts_.xids.begin(), facts_.xids.end(), code,
                                   [](const Xid& xid, std::uint32_t wanted) { return xid.code < wanted; });
  return at != facts_.xids.end() && at->code == code ? &*at : nullptr;
}

const Sxid* Catalog::sxid(std::uint32_t code) const {
  const auto at = std::ranges::find_if(
      facts_.sxids, [code](const Sxid& sxid) { return code >= sxid.code && code <= sxid.last; });
  return at == facts_.sxids.end() ? nullptr : &*at;
}

const LinkDownReason* Catalog::link_down_reason(int number) const {
  const auto at = std::ranges::find(facts_.link_down_reasons, number, &LinkDownReason::number);
  return at == facts_.link_down_reasons.end() ? nullptr : &*at;
}

const LogRule* Catalog::log_rule(std::string_view id) const {
  return find_id(facts_.log_rules, id);
}

const GpuModel* Catalog::gpu_model(std::string_view product_name) const {
  for (const GpuModel& model : facts_.gpu_models)
    for (const std::string& name : model.name_patterns)
      if (name == product_name) return &model;
  return nullptr;
}

const Counter* Catalog::counter(std::string_view id) const {
  return find_id(facts_.counters, id);
}

const ReadingRange* Catalog::range_of(std::string_view reading) const {
  for (const ReadingRange& range : facts_.reading_ranges)
    if (std::ranges::find(range.readings, reading) != range.readings.end()) return &range;
  return nullptr;
}

const Profile* Catalog::profile(std::string_view id) const {
  return find_id(facts_.profiles, id);
}

const CheckPage* Catalog::check(std::string_view id) const {
  return find_id(facts_.checks, id);
}

}  // namespace autopilot::catalog
