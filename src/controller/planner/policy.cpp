// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/policy.hpp"

#include <algorithm>
#include <optional>

#include "core/word_table.hpp"
#include "core/yaml.hpp"

namespace autopilot::controller {
namespace {

constexpr WordTable<CouldNotLook, 2> kCouldNotLook{
    {{CouldNotLook::start, "start"}, {CouldNotLook::stop, "stop"}}};
constexpr WordTable<Proof, 2> kProofs{
    {{Proof::failed_tests, "failed_tests"}, {Proof::deep_test, "deep_test"}}};
enum class Removal : std::uint8_t { evict, remove };
constexpr WordTable<Removal, 2> kRemovals{{{Removal::evict, "evict"}, {Removal::remove, "delete"}}};
enum class Spare : std::uint8_t { same_domain, anywhere };
constexpr WordTable<Spare, 2> kSpares{{{Spare::same_domain, "same_domain"}, {Spare::anywhere, "anywhere"}}};

std::optional<CouldNotLook> parse_could_not_look(std::string_view word) {
  return value_of(kCouldNotLook, word);
}
std::optional<Proof> parse_proof(std::string_view word) {
  return value_of(kProofs, word);
}
std::optional<Removal> parse_removal(std::string_view word) {
  return value_of(kRemovals, word);
}
std::optional<Spare> parse_spare(std::string_view word) {
  return value_of(kSpares, word);
}

constexpr Duration kLongest = std::chrono::hours{24 * 90};
constexpr std::size_t kMaxRetests = 10;

void read_integer(YamlMap& map, std::string_view key, std::int64_t least, std::int64_t most, int& into) {
  const auto value = map.integer(key);
  if (!value) return;
  if (*value < least || *value > most)
    return map.problem(map.line_of(key), "`" + std::string(key) + "`: expected a number from " +
                                             std::to_string(least) + " to " + std::to_string(most));
  into = static_cast<int>(*value);
}

bool is_length(Duration value) {
  return value > Duration{0} && value <= kLongest;
}

void read_duration(YamlMap& map, std::string_view key, Duration& into) {
  const auto value = map.duration(key);
  if (!value) return;
  if (!is_length(*value))
    return map.problem(map.line_of(key), "`" + std::string(key) + "`: expected more than 0s and at most " +
                                             format_duration(kLongest));
  into = *value;
}

// Reads a group of keys if it exists.
template <class Read>
void read_group(YamlMap& map, std::string_view key, Read read) {
  const YamlNode* node = map.map(key);
  if (node == nullptr) return;
  YamlMap group = map.nested(*node, std::string(key));
  read(group);
}

void read_retests(YamlMap& group, Rules& rules) {
  const auto words = group.words("retests");
  if (!words) return;
  std::vector<Duration> retests;
  for (const std::string& word : *words) {
    const auto value = parse_duration(word);
    if (!value || !is_length(*value) || (!retests.empty() && *value <= retests.back()))
      return group.problem(group.line_of("retests"),
                           "`retests`: expected durations after the return, each longer than the one before, "
                           "such as [24h, 72h]");
    retests.push_back(*value);
  }
  if (retests.size() > kMaxRetests)
    return group.problem(group.line_of("retests"),
                         "`retests`: expected at most " + std::to_string(kMaxRetests));
  rules.retests = std::move(retests);
}

void read_requests(YamlMap& map, Rules& rules) {
  const auto words = map.words("requests");
  if (!words) return;
  std::vector<Action> requests;
  for (const std::string& word : *words) {
    const auto action = parse_action(word);
    if (!action || !takes_device_out_of_service(*action))
      return map.problem(map.line_of("requests"),
                         "`requests`: expected drain_then_reset_gpu, reset_gpu, reboot_node, restart_vm, "
                         "power_cycle or replace, not `" +
                             word.substr(0, 80) + '`');
    requests.push_back(*action);
  }
  rules.requests = std::move(requests);
}

void read_limits(YamlMap& map, Rules& rules) {
  read_group(map, "budgets", [&](YamlMap& group) {
    read_integer(group, "pool_percent", 0, 100, rules.pool_percent);
    read_integer(group, "domain_percent", 0, 100, rules.domain_percent);
    read_integer(group, "job_percent", 0, 100, rules.job_percent);
    read_integer(group, "testing_percent", 0, 100, rules.testing_percent);
  });
  read_group(map, "rates", [&](YamlMap& group) {
    read_integer(group, "holds_per_hour", 1, 10'000, rules.holds_per_hour);
    read_integer(group, "evictions_per_hour", 1, 100'000, rules.evictions_per_hour);
  });
  read_group(map, "breaker", [&](YamlMap& group) {
    read_integer(group, "nodes", 1, 10'000, rules.breaker_nodes);
    read_integer(group, "percent", 1, 100, rules.breaker_percent);
    read_duration(group, "window", rules.breaker_window);
    read_duration(group, "settle", rules.breaker_settle);
  });
}

void read_ways(YamlMap& map, Rules& rules) {
  read_group(map, "telemetry",
             [&](YamlMap& group) { read_duration(group, "stale_after", rules.stale_after); });
  read_group(map, "preflight", [&](YamlMap& group) {
    read_duration(group, "report_age", rules.report_age);
    if (const auto word =
            group.choice<CouldNotLook>("could_not_look", parse_could_not_look, {"start", "stop"}))
      rules.could_not_look = *word;
  });
  read_group(map, "evictions", [&](YamlMap& group) {
    if (const auto word = group.choice<Removal>("method", parse_removal, {"evict", "delete"}))
      rules.deletes_pods = *word == Removal::remove;
    read_duration(group, "job_interval", rules.job_interval);
    if (const auto needs = group.boolean("need_spare")) rules.needs_spare = *needs;
    if (const auto word = group.choice<Spare>("spare", parse_spare, {"same_domain", "anywhere"}))
      rules.prefers_same_domain = *word == Spare::same_domain;
  });
  read_group(map, "returns", [&](YamlMap& group) {
    if (const auto word = group.choice<Proof>("proof", parse_proof, {"failed_tests", "deep_test"}))
      rules.proof = *word;
    read_duration(group, "test_every", rules.test_every);
  });
  read_group(map, "probation", [&](YamlMap& group) {
    read_retests(group, rules);
    read_duration(group, "patience", rules.retest_patience);
  });
  read_group(map, "lemons", [&](YamlMap& group) {
    if (const auto holds = group.boolean("hold")) rules.holds_lemons = *holds;
  });
}

void read_rules(YamlMap& map, Rules& rules) {
  if (const auto mode = map.choice<Mode>("mode", parse_mode, {"observe", "hold", "act"})) rules.mode = *mode;
  read_limits(map, rules);
  read_ways(map, rules);
  read_requests(map, rules);
}

void read_selector(YamlMap& map, Pool& pool) {
  const YamlNode* node = map.map("selector");
  if (node == nullptr || node->members.empty())
    return map.problem(map.line_of("selector"), "`selector`: expected labels of the nodes of this pool");
  for (const YamlMember& member : node->members) {
    if (member.value.kind != YamlNode::Kind::scalar)
      return map.problem(member.line,
                         "`selector." + member.key.substr(0, 80) + "`: expected a label's value");
    pool.selector[member.key] = member.value.text;
  }
}

void read_pools(YamlMap& top, Policy& policy) {
  const YamlNode* list = top.list("pools");
  if (list == nullptr) return;
  if (list->items.size() > Policy::kMaxPools)
    return top.problem(list->line, "`pools`: expected at most " + std::to_string(Policy::kMaxPools));
  for (const YamlNode& item : list->items) {
    if (item.kind != YamlNode::Kind::map) {
      top.problem(item.line, "`pools`: expected a pool with `name` and `selector`");
      continue;
    }
    Pool pool{.name = {}, .selector = {}, .rules = policy.rules};
    YamlMap map = top.nested(item, "pool");
    pool.name = map.required_word("name");
    const bool is_taken =
        std::ranges::any_of(policy.pools, [&](const Pool& p) { return p.name == pool.name; });
    if (is_taken || pool.name == Policy::kDefaultPool)
      map.problem(map.line_of("name"), "`name`: `" + pool.name.substr(0, 80) + "` is taken");
    read_selector(map, pool);
    read_rules(map, pool.rules);
    policy.pools.push_back(std::move(pool));
  }
}

}  // namespace

std::string_view to_string(CouldNotLook what) {
  return word_of(kCouldNotLook, what);
}
std::string_view to_string(Proof proof) {
  return word_of(kProofs, proof);
}

std::string_view Policy::pool_of(const Labels& labels) const {
  const auto selects = [&](const Pool& pool) {
    return std::ranges::all_of(pool.selector, [&](const auto& wanted) {
      const auto at = labels.find(wanted.first);
      return at != labels.end() && at->second == wanted.second;
    });
  };
  const auto at = std::ranges::find_if(pools, selects);
  return at == pools.end() ? kDefaultPool : std::string_view(at->name);
}

const Rules& Policy::of(std::string_view pool) const {
  const auto at = std::ranges::find_if(pools, [&](const Pool& one) { return one.name == pool; });
  return at == pools.end() ? rules : at->rules;
}

int share_of(std::size_t nodes, int percent) {
  return std::max(1, static_cast<int>(nodes * static_cast<std::size_t>(percent) / 100));
}

Result<Policy> parse_policy(std::string_view text, std::string_view name) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Policy policy;
  {
    YamlMap top(root, "policy", problems);
    read_rules(top, policy.rules);
    read_pools(top, policy);
  }
  TRY_STATUS(problems.status());
  return policy;
}

}  // namespace autopilot::controller
