// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/check_answer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/reading.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "core/not_started.hpp"
#include "core/parse.hpp"
#include "core/value.hpp"
#include "core/word_table.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

constexpr WordTable<Outcome, 5> kOutcomes{{{Outcome::passed, "passed"},
                                           {Outcome::failed, "failed"},
                                           {Outcome::skipped, "skipped"},
                                           {Outcome::aborted, "aborted"},
                                           {Outcome::not_supported, "not_supported"}}};

bool has_no_answer(const CheckResult& result) {
  return result.observations.empty() ||
         std::ranges::any_of(result.observations, [](const Observation& one) { return !one.value; });
}

// The check has no object on this node, none is expected, and its tests are not configured.
bool is_pointless(const NodeSnapshot& snapshot, const CheckResult& result, bool is_active) {
  const CheckResult* present = find_result(snapshot, "gpu.present");
  if (result.health != Health::unsupported || (is_active && end_of_test(result))) return false;
  return (is_active || present == nullptr || message_of(*present, Health::failed).empty());
}

Outcome outcome_of(const GpuFlags& gpus) {
  if (gpus.any_bad()) return Outcome::failed;
  return gpus.is_empty() || gpus.any_unread() ? Outcome::aborted : Outcome::passed;
}

Said remapped(const NodeSnapshot& snapshot, const CheckResult& result) {
  const GpuFlags gpus(snapshot, remapped_question());
  const Outcome outcome = outcome_of(gpus);
  if (outcome == Outcome::aborted) {
    const std::string why = abort_line(snapshot, result);
    return {outcome, "", why + "[[ REMAPPED ROWS ]] ABORT\n" + why};
  }
  const bool is_bad = outcome == Outcome::failed;
  return {outcome, "\n[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n",
          std::string("[[ REMAPPED ROWS ]] ") + (is_bad ? "FAIL" : "SUCCESS") + "\nHost  " + snapshot.node +
              "\nDetected NVIDIA GPU: " + gpus.gpus() + "\n" + (is_bad ? "FAIL\n" : "") + gpus.values() +
              "\n"};
}

Said gpu_power(const NodeSnapshot& snapshot, const CheckResult& result) {
  const GpuFlags gpus(snapshot, slowdown_question());
  const Outcome outcome = outcome_of(gpus);
  if (outcome == Outcome::aborted)
    return {outcome, "", "[[GPU POWER]] ABORT\n" + abort_line(snapshot, result)};
  return {outcome, "\n[[GPU POWER]] Briefings completed. Continue with power cap evaluation.\n",
          "[GPU POWER] Detected NVIDIA GPU: " + gpus.gpus() + "\n[GPU POWER] " +
              (outcome == Outcome::failed ? "FAIL" : "SUCCESS") + "\n" + gpus.values() + "\n"};
}

// One phrase. For several classes it is the phrase of the worst one.
Said pvc(const NodeSnapshot& snapshot, const CheckResult& result) {
  const auto outcomes = words(snapshot, result.check, "pvc.outcome");
  if (outcomes.contains("not_bound")) return {Outcome::failed, "", "[PVC Create-Delete] FAIL"};
  if (outcomes.contains("no_class")) return {Outcome::aborted, "", "Create PVC Failed. ABORT"};
  if (words(snapshot, result.check, "pvc.left_behind").contains("true"))
    return {Outcome::aborted, "", "[PVC Create-Delete] Error in deleting the PVC. ABORT "};
  if (has_no_answer(result)) return {Outcome::aborted, "", "[PVC Create-Delete] PVC not found. ABORT "};
  return {Outcome::passed, "", "[PVC Create-Delete] PVC SUCCESS"};
}

struct Teller {
  std::string_view name;
  std::string_view tag;  // of its lines that are not a result
  Said (*tell)(const NodeSnapshot& snapshot, const CheckResult& result);
  std::string_view without_test = {};  // text for a diagnostic that has not run yet; empty: the reason
};

constexpr std::array<Teller, 8> kTellers{{
    {"pciebw", "[[ PCIEBW ]]", pcie_bandwidth},
    {"remapped", "[[ REMAPPED ROWS ]]", remapped},
    {"gpupower", "[[GPU POWER]]", gpu_power},
    {"gpumem", "[[ GPU-MEM ]]", gpu_memory},
    {"dcgm", "[[ DCGM ]]", dcgm},
    {"ping", "[PING]", ping},
    {"iperf", kNetworkTag, iperf},
    {"pvc", "[PVC Create-Delete]", pvc, "Storage class not set. Cannot run. ABORT"},
}};

// What starts the diagnostic, or why it cannot run.
std::string why_not_run(std::string_view why) {
  if (why.starts_with(kNotStarted)) why.remove_prefix(kNotStarted.size());
  return to_lower(on_one_line(std::string(why)));
}

// The node has no object for the check, or the diagnostic has not run here yet.
CheckAnswer without_object(CheckAnswer answer, const Teller& teller, const CheckResult& result) {
  const bool is_test = find_check(answer.name)->is_active;
  const std::string why = message_of(result, Health::unsupported);
  answer.outcome = Outcome::skipped;
  answer.text =
      is_test && !teller.without_test.empty()
          ? std::string(teller.without_test)
          : std::string(teller.tag) + " SKIP: " + (is_test ? "not yet run: " + why_not_run(why) : why) + "\n";
  return answer;
}

void date_look(CheckAnswer& answer, const CheckResult& result, WallTime looked_since) {
  answer.is_fresh = result.completed >= looked_since;
  if (!answer.is_fresh && result.completed != WallTime{}) answer.result_of = result.completed;
}

// Null: no test was requested.
const TestRun* find_run(const Effort& effort, const CheckName& name) {
  for (const std::string_view check : {name.check, name.other})
    if (const auto asked = effort.tests.find(check); asked != effort.tests.end()) return &asked->second;
  return nullptr;
}

// run: the requested test; null: no authorized caller requested one.
void date_test(CheckAnswer& answer, const CheckResult& result, const TestRun* run) {
  const auto end = end_of_test(result);
  answer.is_fresh = run != nullptr && run->not_run.empty() && end && *end >= run->began;
  if (answer.is_fresh) return;
  answer.result_of = end;
  if (run != nullptr) answer.not_run = run->not_run.empty() ? "the test gave no result" : run->not_run;
}

// The line about the age of a result. In lower case, because clients search the other lines for upper-case
// words.
std::string date_line(const CheckAnswer& answer, const Teller& teller, bool is_active) {
  const std::string tag(teller.tag);
  const std::string why = to_lower(on_one_line(answer.not_run));
  if (!answer.result_of) return why.empty() ? "" : tag + " not run: " + why + ".\n";
  const std::string of = tag + " Result of " + format_time(*answer.result_of) + "; ";
  if (!why.empty()) return of + "not run: " + why + ".\n";
  return of + (is_active ? "authenticate to run now.\n" : "a new run is in progress.\n");
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  return autopilot::word_of(kOutcomes, outcome);
}

CheckAnswer answer_of(std::string_view name, const NodeSnapshot& snapshot, const Effort& effort) {
  CheckAnswer answer{.name = std::string(name), .text = "check not supported: " + std::string(name)};
  const CheckName* known = find_check(name);
  const auto* teller = std::ranges::find(kTellers, name, &Teller::name);
  const CheckResult* result = known == nullptr ? nullptr : result_of(*known, snapshot);
  if (result == nullptr || teller == kTellers.end()) return answer;
  if (!known->is_active) date_look(answer, *result, effort.looked_since);
  if (is_pointless(snapshot, *result, known->is_active))
    return without_object(std::move(answer), *teller, *result);
  answer.check = result->check;
  const TestRun* run = find_run(effort, *known);
  if (known->is_active) date_test(answer, *result, run);
  const Said said = teller->tell(snapshot, *result);
  answer.outcome = said.outcome;
  answer.text = said.head + date_line(answer, *teller, known->is_active) + said.rest;
  // The earlier result remains until a test passes.
  if (run == nullptr || !run->is_in_use || said.outcome == Outcome::failed) return answer;
  answer.outcome = Outcome::skipped;
  answer.text = std::string(teller->tag) + " SKIP: " + on_one_line(run->not_run) + "\n";
  return answer;
}

namespace {

constexpr std::string_view kPcieBandwidth = "pciebw";

}  // namespace

const std::vector<CheckName>& check_names() {
  static const std::vector<CheckName> names{
      {kPcieBandwidth, "gpu.pcie_bandwidth", "Requesting pcie test with bw: ", true},
      {"remapped", "gpu.row_remap", "Requesting Remapped Rows check on all GPUs\n"},
      {"dcgm", "gpu.diagnosis", "DCGM test", true, "gpu.dcgm"},
      {"ping", "network.ping", "Ping test", true},
      {"gpupower", "gpu.throttle", "GPU Power Measurement test"},
      {"gpumem", "gpu.compute", "GPU Memory DGEMM+DAXPY test", true},
      {"pvc", "storage.pvc", "PVC create-delete test\n", true},
      {kNetworkTest, "network.bandwidth", "", true},
  };
  return names;
}

std::string preamble_of(const CheckName& check, double pcie_bandwidth_limit) {
  std::string preamble(check.preamble);
  if (check.name == kPcieBandwidth) preamble += to_string(Value{pcie_bandwidth_limit}) + "\n";
  return preamble;
}

std::string invasive_text(std::string_view prefix, int level, std::string_view why_not) {
  std::string text = "Launching invasive health checks. Their results are in";
  if (!why_not.empty()) {
    text = "Not launching invasive health checks: ";
    text.append(on_one_line(to_lower(why_not))).append(". Results of earlier ones are in");
  }
  text.append(" the labels ").append(prefix).append("/gpuhealth and ").append(prefix);
  return text + "/dcgm.level." + std::to_string(level) + " of the node.\n";
}

const CheckName* find_check(std::string_view name) {
  const auto found = std::ranges::find(check_names(), name, &CheckName::name);
  return found == check_names().end() ? nullptr : &*found;
}

std::vector<std::string> named_checks(std::string_view list, const std::vector<std::string>& periodic) {
  if (list.find(kAll) != std::string_view::npos) return periodic;
  std::vector<std::string> names;
  for (const std::string_view name : split(list, ','))
    names.emplace_back(name);
  return names;
}

}  // namespace autopilot::compat::ibm_autopilot
