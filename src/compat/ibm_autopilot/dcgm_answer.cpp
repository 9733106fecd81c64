// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/dcgm_answer.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "compat/ibm_autopilot/reading.hpp"
#include "core/attribute_text.hpp"
#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

// One check covers the node, the other covers each subject.
std::optional<bool> has_failed(const NodeSnapshot& snapshot, const CheckResult& result) {
  std::set<std::string> said = words(snapshot, result.check, "deep_test.outcome");
  said.merge(words(snapshot, result.check, "dcgm.result"));
  if (said.contains("failed") || said.contains("fatal")) return true;
  if (said.contains("passed") || said.contains("warned")) return false;
  return std::nullopt;
}

// The workload that kept the last test from running, in lower case, because the line has the tag of its
// check.
std::string user_of(const CheckResult& result) {
  for (const Observation& observation : result.observations)
    if (observation.name == "dcgm.outcome" && word_of(observation) == "in_use")
      return to_lower(on_one_line(attribute_text(observation, "by")));
  return {};
}

}  // namespace

const CheckResult* result_of(const CheckName& name, const NodeSnapshot& snapshot) {
  const CheckResult* first = find_result(snapshot, name.check);
  const CheckResult* other = name.other.empty() ? nullptr : find_result(snapshot, name.other);
  if (first == nullptr || other == nullptr) return first == nullptr ? other : first;
  const auto ended = end_of_test(*first);
  if (end_of_test(*other) > ended) return other;
  return ended || first->health != Health::unsupported ? first : other;
}

Said dcgm(const NodeSnapshot& snapshot, const CheckResult& result) {
  const auto failed = has_failed(snapshot, result);
  const std::string head = "\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n";
  if (failed.value_or(false)) return {Outcome::failed, head, "Host " + snapshot.node + "\n[[ DCGM ]] FAIL\n"};
  if (const std::string user = user_of(result); !user.empty())
    return {Outcome::skipped, "", "[[ DCGM ]] SKIP: GPU in use by " + user + "\n"};
  if (failed && !has_unread(result)) return {Outcome::passed, head, "[[ DCGM ]] SUCCESS\n"};
  const std::string why = abort_line(snapshot, result);
  return {Outcome::aborted, "", why + "[[ DCGM ]] ABORT\n" + why};
}

std::optional<bool> has_failed_dcgm(const NodeSnapshot& snapshot) {
  const CheckResult* result = result_of(*find_check("dcgm"), snapshot);
  const auto failed = result == nullptr ? std::nullopt : has_failed(snapshot, *result);
  return failed == false && has_unread(*result) ? std::nullopt : failed;
}

}  // namespace autopilot::compat::ibm_autopilot
