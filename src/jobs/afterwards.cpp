// SPDX-License-Identifier: Apache-2.0
#include "jobs/afterwards.hpp"

#include <algorithm>
#include <string_view>

#include "jobs/decision/last_words.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kMostNamedNodes = 4;
constexpr std::size_t kLongestFault = 160;  // bytes, of one node in the sentence

std::string nodes_text(int count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

// "node-7 (network.rdma: ...), node-9 (...) and 3 more"
std::string named(const Afterwards& afterwards, ValidationVerdict verdict, int count, bool has_faults) {
  std::string text;
  std::size_t shown = 0;
  for (const ValidationRecord& one : afterwards.not_passed) {
    if (one.verdict != verdict) continue;
    if (shown == kMostNamedNodes) break;
    text += (shown++ == 0 ? "" : ", ") + one.node;
    const std::string fault = has_faults ? fault_text_of(one) : "";
    if (!fault.empty()) text += " (" + one_line(fault, kLongestFault) + ")";
  }
  const int more = count - static_cast<int>(shown);
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

std::string advice_text(const Afterwards& afterwards) {
  if (afterwards.failed == 0 || afterwards.nodes < 2) return {};
  if (afterwards.failed * 2 > afterwards.nodes)
    return "; more than half of the nodes failed: look for their common cause before a restart";
  if (!afterwards.has_most_verdicts()) return "; no advice before three of four nodes passed or failed";
  return "; restart without " + named(afterwards, ValidationVerdict::failed, afterwards.failed, false);
}

}  // namespace

std::string fault_text_of(const ValidationRecord& validation) {
  if (validation.failed.empty()) return validation.text;
  const FailedCheck& worst = validation.failed.front();
  return worst.text.empty() ? worst.check : worst.check + ": " + worst.text;
}

std::string sentence_of(const Afterwards& afterwards) {
  const int missing = std::max(0, afterwards.nodes - afterwards.validated());
  const std::string all = nodes_text(afterwards.nodes);
  std::string text;
  if (afterwards.failed > 0)
    text = std::to_string(afterwards.failed) + " of " + all +
           " not as good as before: " + named(afterwards, ValidationVerdict::failed, afterwards.failed, true);
  else
    text = std::to_string(afterwards.passed) + " of " + all + " as good as before";
  if (afterwards.unknown > 0)
    text += "; unknown on " + nodes_text(afterwards.unknown) + ": " +
            named(afterwards, ValidationVerdict::unknown, afterwards.unknown, true);
  if (missing > 0) text += "; " + nodes_text(missing) + " without a result";
  if (!afterwards.cause.empty()) text += "; probable cause of the failure: " + afterwards.cause;
  return text + advice_text(afterwards);
}

}  // namespace autopilot::jobs
