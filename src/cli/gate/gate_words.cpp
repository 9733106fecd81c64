// SPDX-License-Identifier: Apache-2.0
#include "cli/gate/gate_words.hpp"

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

std::string consequence_of(const api::PreflightResult& result) {
  switch (result.outcome) {
    case api::PreflightOutcome::passed:
      return "the job may start";
    case api::PreflightOutcome::failed:
      return result.may_start ? "preflight.failed of the node is start, so the job starts; with stop the pod "
                                "would be held back"
                              : "the job does not start on this node";
    default:
      return result.may_start
                 ? "the GPUs are unproven, and the policy of the node lets the job start"
                 : "the GPUs are unproven, and the policy of the node keeps the job from starting";
  }
}

}  // namespace

std::string line_of(const api::PreflightResult& result) {
  return "node " + result.node + (result.simulated ? " (SIMULATED)" : "") + ": " + result.message + "; " +
         consequence_of(result);
}

std::string line_of(const api::PreflightProgress& progress) {
  return "node " + progress.node + ": " + progress.message;
}

std::vector<std::string> parse_test_list(const std::string& text) {
  std::vector<std::string> ids;
  for (const std::string_view part : split(text, ','))
    if (const std::string_view id = trim(part); !id.empty()) ids.emplace_back(id);
  return ids;
}

bool is_news(const std::optional<api::PreflightProgress>& before, const api::PreflightProgress& now) {
  return !before || before->message != now.message;
}

}  // namespace autopilot::cli
