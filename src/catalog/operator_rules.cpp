// SPDX-License-Identifier: Apache-2.0
#include "catalog/operator_rules.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "catalog/log_pattern.hpp"
#include "catalog/log_rule.hpp"
#include "core/yaml.hpp"

namespace autopilot::catalog {
namespace {

// The reasons of catalog/reasons.yaml that such a line gives.
constexpr std::string_view kDegraded = "log_rule_degraded";
constexpr std::string_view kFailed = "log_rule_failed";

LogRule read_rule(Entry& entry, const std::string& file) {
  const bool is_judged = entry.has("health");
  LogRule rule = read_log_rule_core(entry, entry.words("examples").value_or(std::vector<std::string>{}));
  rule.kind = "other";
  if (is_judged) rule.reason = rule.health == Health::failed ? kFailed : kDegraded;
  rule.provenance.source = file;
  return rule;
}

class RuleReader {
 public:
  explicit RuleReader(const Catalog& base) : base_(base) {}

  void read(const std::string& name, const std::string& text, YamlProblems& problems) {
    const YamlNode root = parse_yaml(text, problems);
    if (!problems.empty()) return;
    YamlMap file(root, "file", problems);
    const YamlNode* list = file.list("log_rules");
    if (list == nullptr) {
      if (problems.empty()) problems.add(root.line, "`log_rules` is missing: a list of rules");
      return;
    }
    for (const YamlNode& item : list->items) {
      Entry entry(item, "log rule", problems);
      LogRule rule = read_rule(entry, name);
      if (base_.log_rule(rule.id) != nullptr)
        problems.add(item.line, "`id`: `" + rule.id + "` belongs to a rule of Autopilot; choose another");
      if (!ids_.insert(rule.id).second) problems.add(item.line, "`id`: `" + rule.id + "` stands here twice");
      places_.push_back({name, entry.line_of("pattern"), entry.line_of("takes_back")});
      rules.push_back(std::move(rule));
    }
    if (rules.size() > kMaxOperatorRules)
      problems.add(root.line, "`log_rules`: at most " + std::to_string(kMaxOperatorRules) + " in all files");
  }

  // A rule may take back one of another file.
  [[nodiscard]] std::string reference_problems() const {
    std::string told;
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (const std::string& other : rules[i].takes_back)
        if (!ids_.contains(other))
          told += place(i, places_[i].takes_back) + "`" + rules[i].id + "` takes back `" + other +
                  "`, which is none of these rules\n";
    return told;
  }

  // The decoder runs them together with those of the catalog.
  [[nodiscard]] std::string memory_problem() const {
    std::vector<LogRule> all = base_.log_rules();
    all.insert(all.end(), rules.begin(), rules.end());
    const std::size_t fitting = how_many_fit(all);
    if (fitting == all.size()) return {};
    const std::size_t first = fitting < base_.log_rules().size() ? 0 : fitting - base_.log_rules().size();
    return place(first, places_[first].pattern) + "`pattern`: with `" + rules[first].id +
           "` all rules together need more memory than they may; write it shorter, above all its repeats\n";
  }

  std::vector<LogRule> rules;

 private:
  struct Place {
    std::string file;
    int pattern = 0;  // lines
    int takes_back = 0;
  };
  [[nodiscard]] std::string place(std::size_t rule, int line) const {
    return places_[rule].file + ":" + std::to_string(line) + ": ";
  }

  const Catalog& base_;
  std::set<std::string> ids_;
  std::vector<Place> places_;  // of each rule
};

}  // namespace

Result<std::vector<LogRule>> parse_operator_rules(const std::map<std::string, std::string>& files,
                                                  const Catalog& base) {
  RuleReader reader(base);
  std::string told;
  for (const auto& [name, text] : files) {
    YamlProblems problems(name);
    reader.read(name, text, problems);
    if (!problems.empty()) told += problems.to_string() + "\n";
  }
  if (told.empty()) told = reader.reference_problems();
  if (told.empty() && !reader.rules.empty()) told = reader.memory_problem();
  if (!told.empty()) return fail(Errc::malformed, told.substr(0, told.size() - 1));
  return std::move(reader.rules);
}

Catalog with_log_rules(const Catalog& base, const std::vector<LogRule>& rules) {
  Facts facts;
  facts.thresholds = base.thresholds();
  facts.reasons = base.reasons();
  facts.xids = base.xids();
  facts.sxids = base.sxids();
  facts.nvlink_errors = base.nvlink_errors();
  facts.link_down_reasons = base.link_down_reasons();
  facts.nvlink_registers = base.nvlink_registers();
  facts.dcgm_errors = base.dcgm_errors();
  facts.log_rules = rules;
  facts.log_rules.insert(facts.log_rules.end(), base.log_rules().begin(), base.log_rules().end());
  facts.causes = base.causes();
  facts.gpu_models = base.gpu_models();
  facts.counters = base.counters();
  facts.reading_ranges = base.reading_ranges();
  facts.profiles = base.profiles();
  facts.checks = base.checks();
  return Catalog(std::move(facts));
}

}  // namespace autopilot::catalog
