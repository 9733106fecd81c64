// SPDX-License-Identifier: Apache-2.0
#include "catalog/cross_check.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "catalog/log_rules.hpp"

namespace autopilot::catalog {
namespace {

class Findings {
 public:
  void add(const std::string& file, const std::string& entry, const std::string& what) {
    if (!text_.empty()) text_ += '\n';
    text_ += file + ": " + entry + ": " + what;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string key_of(const Xid& xid) {
  return std::to_string(xid.code);
}
std::string key_of(const ActionFacts& action) {
  return std::string(to_string(action.id));
}
std::string key_of(const Sxid& sxid) {
  return sxid.is_unit() ? std::to_string(sxid.code) + " to " + std::to_string(sxid.last)
                        : std::to_string(sxid.code);
}
std::string key_of(const LinkDownReason& reason) {
  return std::to_string(reason.number);
}
std::string key_of(const DcgmError& error) {
  return std::to_string(error.number);
}
template <class Entry>
std::string key_of(const Entry& entry) {
  return entry.id;
}

template <class Entry>
std::set<std::string> unique_keys(const std::vector<Entry>& entries, const std::string& file,
                                  Findings& findings) {
  std::set<std::string> keys;
  for (const Entry& entry : entries)
    if (!keys.insert(key_of(entry)).second) findings.add(file, key_of(entry), "is defined twice");
  return keys;
}

void check_product_names(const Facts& facts, Findings& findings) {
  std::set<std::string> names;
  for (const GpuModel& model : facts.gpu_models)
    for (const std::string& name : model.name_patterns)
      if (!names.insert(name).second)
        findings.add("gpu_models.yaml", model.id, "the name `" + name + "` belongs to two models");
}

// "gpu.ecc.corrected_per_day" -> "gpu.ecc"
std::string check_of(const std::string& threshold_id) {
  return threshold_id.substr(0, threshold_id.rfind('.'));
}

void check_reasons(const Facts& facts, const std::set<std::string>& reasons,
                   const std::set<std::string>& checks, Findings& findings) {
  for (const Reason& reason : facts.reasons) {
    for (const std::string& check : reason.checks)
      if (check != kAnyCheck && check != kCustomChecks && !checks.contains(check))
        findings.add("reasons.yaml", reason.id, "there is no check `" + check + "`");
    for (const std::string& hidden : reason.hides)
      if (!reasons.contains(hidden))
        findings.add("reasons.yaml", reason.id, "there is no reason `" + hidden + "`");
  }
}

void check_references(const Facts& facts, const std::set<std::string>& thresholds,
                      const std::set<std::string>& checks, Findings& findings) {
  for (const Threshold& threshold : facts.thresholds)
    if (!checks.contains(check_of(threshold.id)))
      findings.add("thresholds.yaml", threshold.id, "does not begin with the id of a check");
  for (const Profile& profile : facts.profiles)
    for (const RequiredCheck& required : profile.required)
      if (!checks.contains(required.check))
        findings.add("profiles.yaml", profile.id, "there is no check `" + required.check + "`");
  for (const Counter& counter : facts.counters)
    if (!counter.threshold.empty() && !thresholds.contains(counter.threshold))
      findings.add("counters.yaml", counter.id, "there is no threshold `" + counter.threshold + "`");
}

// A recognised line that no check reads leaves a faulty machine healthy, so the catalog must state why.
void check_reader(const Facts& facts, const LogRule& rule, Findings& findings) {
  const bool has_reader = std::ranges::any_of(facts.checks, [&](const CheckPage& page) {
    return std::ranges::find(page.log_rules, rule.id) != page.log_rules.end();
  });
  if (!has_reader && rule.not_judged.empty())
    findings.add("log_rules", rule.id, "no check reads it, and `not_judged` states no cause");
  if (has_reader && !rule.not_judged.empty())
    findings.add("log_rules", rule.id, "`not_judged`: a check reads it");
}

// A line with a reason is read by a check that may report the reason.
void check_log_rules(const Facts& facts, const std::set<std::string>& rules, Findings& findings) {
  for (const CheckPage& page : facts.checks)
    for (const std::string& rule : page.log_rules)
      if (!rules.contains(rule)) findings.add("checks.yaml", page.id, "there is no log rule `" + rule + "`");
  for (const LogRule& rule : facts.log_rules) {
    for (const std::string& other : rule.takes_back)
      if (!rules.contains(other)) findings.add("log_rules", rule.id, "there is no log rule `" + other + "`");
    check_reader(facts, rule, findings);
    if (rule.reason.empty()) continue;
    const bool is_read = std::ranges::any_of(facts.checks, [&](const CheckPage& page) {
      return std::ranges::find(page.log_rules, rule.id) != page.log_rules.end() &&
             std::ranges::any_of(facts.reasons, [&](const Reason& reason) {
               return reason.id == rule.reason &&
                      std::ranges::find(reason.checks, page.id) != reason.checks.end();
             });
    });
    if (!is_read)
      findings.add("log_rules", rule.id, "no check that may report `" + rule.reason + "` reads it");
  }
}

// A reason, xid_<code> of a known code, sxid_<code>, sxid_fatal or sxid_nonfatal.
bool is_word_of_cause(const std::string& word, const std::set<std::string>& reasons,
                      const std::set<std::string>& xids) {
  if (reasons.contains(word) || word == "sxid_fatal" || word == "sxid_nonfatal") return true;
  if (word.starts_with("xid_")) return xids.contains(word.substr(4));
  return word.starts_with("sxid_") && word.size() > 5 &&
         word.find_first_not_of("0123456789", 5) == std::string::npos;
}

void check_causes(const Facts& facts, const std::set<std::string>& reasons, const std::set<std::string>& xids,
                  Findings& findings) {
  for (const Cause& cause : facts.causes)
    for (const auto* words : {&cause.roots, &cause.takes, &cause.takes_anywhere, &cause.explains})
      for (const std::string& word : *words)
        if (!is_word_of_cause(word, reasons, xids))
          findings.add("causes.yaml", cause.id, "`" + word + "` is neither a reason nor a code");
}

void check_reading_ranges(const Facts& facts, Findings& findings) {
  std::set<std::string> known;
  for (const ReadingRange& range : facts.reading_ranges)
    for (const std::string& reading : range.readings)
      if (!known.insert(reading).second)
        findings.add("readings.yaml", range.id, "`" + reading + "` has a range already");
}

void check_take_backs(const Facts& facts, const std::set<std::string>& xids, Findings& findings) {
  for (const Xid& xid : facts.xids)
    for (const std::uint32_t other : xid.takes_back)
      if (other == xid.code || !xids.contains(std::to_string(other)))
        findings.add("xid.yaml", key_of(xid),
                     "takes back " + std::to_string(other) + ", which is not another known code");
}

}  // namespace

std::string cross_check(const Facts& facts) {
  Findings findings;
  unique_keys(facts.actions, "actions.yaml", findings);
  const auto thresholds = unique_keys(facts.thresholds, "thresholds.yaml", findings);
  const auto checks = unique_keys(facts.checks, "checks.yaml", findings);
  const auto reasons = unique_keys(facts.reasons, "reasons.yaml", findings);
  const auto xids = unique_keys(facts.xids, "xid.yaml", findings);
  unique_keys(facts.sxids, "sxid.yaml", findings);
  unique_keys(facts.nvlink_errors, "nvlink_errors.yaml", findings);
  unique_keys(facts.link_down_reasons, "link_down_reasons.yaml", findings);
  unique_keys(facts.nvlink_registers, "nvlink_registers.yaml", findings);
  unique_keys(facts.dcgm_errors, "dcgm_errors.yaml", findings);
  unique_keys(facts.causes, "causes.yaml", findings);
  const auto rules = unique_keys(facts.log_rules, "log_rules", findings);
  unique_keys(facts.gpu_models, "gpu_models.yaml", findings);
  unique_keys(facts.counters, "counters.yaml", findings);
  unique_keys(facts.reading_ranges, "readings.yaml", findings);
  check_reading_ranges(facts, findings);
  unique_keys(facts.profiles, "profiles.yaml", findings);
  check_product_names(facts, findings);
  check_take_backs(facts, xids, findings);
  if (const std::size_t fitting = how_many_fit(facts.log_rules); fitting < facts.log_rules.size())
    findings.add("log_rules", facts.log_rules[fitting].id, "with it all patterns need too much memory");
  if (!facts.checks.empty()) {
    check_references(facts, thresholds, checks, findings);
    check_reasons(facts, reasons, checks, findings);
    check_causes(facts, reasons, xids, findings);
    check_log_rules(facts, rules, findings);
  }
  return findings.take();
}

}  // namespace autopilot::catalog
