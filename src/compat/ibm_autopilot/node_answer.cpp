// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/node_answer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/reading.hpp"
#include "compat/ibm_autopilot/status_request.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

std::string without_line_end(std::string text) {
  text.pop_back();
  return text;
}

void write_members(api::JsonWriter& writer, const CheckAnswer& answer) {
  writer.word("name", answer.name);
  const CheckName* known = find_check(answer.name);
  if (known != nullptr) writer.word("check", answer.check.empty() ? known->check : answer.check);
  writer.word("outcome", outcome_word(answer.outcome));
  if (answer.outcome != Outcome::not_supported && known != nullptr) writer.flag("fresh", answer.is_fresh);
  if (answer.result_of) writer.time("resultOf", *answer.result_of);
  if (!answer.not_run.empty()) writer.word("notRun", answer.not_run);
  writer.word("text", answer.text);
}

// Omits OK if no check passed.
std::vector<std::string> statuses_of(const std::vector<CheckAnswer>& answers) {
  std::vector<std::string> statuses;
  bool any_passed = false;
  for (const CheckAnswer& answer : answers) {
    any_passed = any_passed || answer.outcome == Outcome::passed;
    if (answer.outcome != Outcome::failed && answer.outcome != Outcome::aborted) continue;
    const auto words = status_words(answer.text);
    statuses.insert(statuses.end(), words.begin(), words.end());
  }
  if (statuses.empty() && any_passed) statuses.emplace_back("OK");
  return statuses;
}

}  // namespace

std::vector<CheckAnswer> answers_of(const std::vector<std::string>& names, const NodeSnapshot& snapshot,
                                    const Effort& effort) {
  std::vector<CheckAnswer> answers;
  for (const std::string& name : names)
    answers.push_back(answer_of(name, snapshot, effort));
  return answers;
}

std::string to_text(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot,
                    std::string_view preamble) {
  std::string text = snapshot.simulated ? "SIMULATED\n" : "";
  text += preamble;
  for (const CheckAnswer& answer : answers) {
    const bool runs_on = !text.empty() && !text.ends_with('\n') && !answer.text.starts_with('\n');
    text.append(runs_on ? "\n" : "").append(answer.text);
  }
  return text;
}

std::string to_json(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", snapshot.node);
  writer.flag("simulated", snapshot.simulated);
  writer.words("statuses", statuses_of(answers));
  writer.begin_list("checks");
  for (const CheckAnswer& answer : answers) {
    writer.begin_object();
    write_members(writer, answer);
    writer.end_object();
  }
  writer.end_list();
  writer.end_object();
  return without_line_end(writer.take());
}

std::string test_json(std::string_view node, std::string_view check) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", node);
  writer.word("check", check);
  writer.end_object();
  return without_line_end(writer.take());
}

std::string to_json(const CheckAnswer& answer, const NodeSnapshot& snapshot) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", snapshot.node);
  writer.flag("simulated", snapshot.simulated);
  write_members(writer, answer);
  writer.end_object();
  return without_line_end(writer.take());
}

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

namespace {

const Observation* find_of(const CheckResult& result, const Subject& subject, std::string_view name) {
  const auto& all = result.observations.all();
  const auto found = std::ranges::find_if(
      all, [&](const Observation& one) { return one.name == name && one.subject == subject; });
  return found == all.end() ? nullptr : &*found;
}

// "12.3"; "nan" if not measured.
std::string one_digit(const Observation* measured) {
  const auto number = measured != nullptr && measured->value ? as_number(*measured->value) : std::nullopt;
  if (!number) return "nan";
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f", *number);
  return text.data();
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// The workload that kept the last test from running, in lower case, as names in Kubernetes are, because the
// line has the tag of its check. Empty if the test ran.
std::string user_of_gpu(const CheckResult& result, std::string_view outcome) {
  const Observation* last = find_of(result, host_subject(), outcome);
  if (last == nullptr || word_of(*last) != "in_use") return {};
  const std::string user = to_lower(on_one_line(attribute_text(*last, "by")));
  return user.empty() ? "an unknown process" : user;
}

Said in_use(std::string_view tag, const std::string& user) {
  return {Outcome::skipped, "", std::string(tag) + " SKIP: GPU in use by " + user + "\n"};
}

// The earlier result remains until a test passes.
std::string in_use_since(const std::string& user) {
  return user.empty() ? "" : "Not tested again: GPU in use by " + user + "\n";
}

bool has_value(const GpuReading& reading) {
  return reading.said->value.has_value();
}

Said aborted(std::string_view tag, const NodeSnapshot& snapshot, const CheckResult& result) {
  return {Outcome::aborted, "", std::string(tag) + " ABORT\n" + abort_line(snapshot, result)};
}

// Columns: copies to and from the host, pinned and not; vector and matrix arithmetic; and the state of the
// GPU.
struct Column {
  std::string_view reading;  // empty: not measured here
  std::size_t width;
};
constexpr std::array<Column, 9> kColumns{{{"compute.host_to_device_pinned", 7},
                                          {"", 7},
                                          {"compute.device_to_host_pinned", 7},
                                          {"", 7},
                                          {"compute.daxpy", 8},
                                          {"compute.dgemm", 7},
                                          {"compute.temperature", 7},
                                          {"compute.power", 8},
                                          {"compute.sm_clock", 9}}};

// "daxpy,dgemm": faults of the GPU, from all findings about it; empty: none.
std::string failed_of(const CheckResult& result, const Subject& gpu) {
  std::string failed;
  for (const Finding& finding : result.findings) {
    const Value* words = finding.subject == gpu ? find_attribute(finding.evidence, "failed") : nullptr;
    if (words != nullptr) failed.append(failed.empty() ? "" : ",").append(to_string(*words));
  }
  return on_one_line(std::move(failed));
}

std::string table_of(const NodeSnapshot& snapshot, const CheckResult& result) {
  std::string table = " GPU H2D(p)  H2D   D2H(p)  D2H   daxpy  dgemm   temp     power     smMHz\n";
  std::string faulty;
  for (const Subject& gpu : gpus_of(snapshot, result.check)) {
    table += right_aligned(device_id(gpu), 4);
    for (const Column& column : kColumns)
      table += right_aligned(one_digit(find_of(result, gpu, column.reading)), column.width);
    table += "\n";
    if (const std::string failed = failed_of(result, gpu); !failed.empty())
      faulty += " GPU " + device_id(gpu) + ": " + failed + "\n";
  }
  return table + "Summary of GPU errors:\n" + (faulty.empty() ? " NONE \n" : faulty);
}

bool has_silent_address(const CheckResult& result) {
  const auto& all = result.observations.all();
  return std::ranges::any_of(all, [](const Observation& one) {
    return one.name == "ping.silent" && one.value && as_number(*one.value).value_or(0) > 0;
  });
}

// One line for each address of each tested node.
std::string lines_of_targets(const CheckResult& result) {
  std::string lines;
  for (const Observation& asked : result.observations) {
    if (asked.name != "ping.silent" || !asked.value) continue;
    const std::string silent = attribute_text(asked, "silent");
    const auto words = split(silent, ' ');
    const std::string unasked = attribute_text(asked, "unasked");
    const auto left_out = split(unasked, ' ');
    const std::string addresses = attribute_text(asked, "addresses");
    for (const std::string_view at : split(addresses, ' ')) {
      const std::string_view interface = at.substr(0, at.find('='));
      if (interface.size() == at.size()) continue;
      if (std::ranges::find(left_out, interface) != left_out.end()) continue;
      const bool is_silent = std::ranges::find(words, interface) != words.end();
      std::string line = "Node " + asked.subject.key;
      line.append(" ").append(at.substr(interface.size() + 1)).append(" ").append(interface);
      lines += on_one_line(std::move(line)) + (is_silent ? " 1\n" : " 0\n");
    }
  }
  return lines;
}

}  // namespace

Said pcie_bandwidth(const NodeSnapshot& snapshot, const CheckResult& result) {
  constexpr std::string_view kTag = "[[ PCIEBW ]]";
  const std::string user = user_of_gpu(result, "pcie_bandwidth.outcome");
  const bool is_slow = has_fault(result);
  if (!user.empty() && !is_slow) return in_use(kTag, user);
  const auto measured = of_gpus(snapshot, result.check, "pcie_bandwidth.host_to_device");
  if (std::ranges::none_of(measured, has_value) || (!is_slow && has_unread(result)))
    return aborted(kTag, snapshot, result);
  std::string rates;
  for (const GpuReading& rate : measured)
    rates.append(rates.empty() ? "" : " ").append(one_digit(rate.said));
  return {is_slow ? Outcome::failed : Outcome::passed,
          "[[ PCIEBW ]] Briefings completed. Continue with PCIe Bandwidth evaluation.\n",
          std::string(is_slow ? "[[ PCIEBW ]] FAIL" : "SUCCESS") + "\nHost  " + snapshot.node + "\n" + rates +
              "\n" + in_use_since(user)};
}

Said gpu_memory(const NodeSnapshot& snapshot, const CheckResult& result) {
  constexpr std::string_view kTag = "[[ GPU-MEM ]]";
  const std::string user = user_of_gpu(result, "compute.outcome");
  const bool has_failed = has_fault(result);
  if (!user.empty() && !has_failed) return in_use(kTag, user);
  if (!has_measured(result) || (!has_failed && has_unread(result))) return aborted(kTag, snapshot, result);
  return {has_failed ? Outcome::failed : Outcome::passed,
          "[[ GPU-MEM ]] Briefings completed. Continue with memory evaluation.\n",
          has_failed ? "[[ GPU-MEM ]] Health Check unsuccessful. FAIL.\n" + table_of(snapshot, result) +
                           in_use_since(user)
                     : "[[ GPU-MEM ]] Health Check successful\n"};
}

Said ping(const NodeSnapshot& snapshot, const CheckResult& result) {
  const Observation* outcome = find_of(result, host_subject(), "ping.outcome");
  if (outcome == nullptr || !outcome->value) return aborted("[PING]", snapshot, result);
  if (word_of(*outcome) == "no_targets") return {Outcome::aborted, "", "[PING] No nodes found. ABORT\n"};
  // An address with late, small or lost packets is a fault too, but it can be reached.
  const bool has_silent = has_silent_address(result);
  if (!has_silent && has_unread(result)) return aborted("[PING]", snapshot, result);
  return {has_silent ? Outcome::failed : Outcome::passed,
          "[PING] Pod running ping:  " + to_lower(on_one_line(attribute_text(*outcome, "pod"))) +
              "\n[PING] Starting: collecting node list\nCreating a list of interfaces and IPs\n"
              "[PING] Running ping tests for every interface\n",
          lines_of_targets(result) + (has_silent ? "[PING] At least one node unreachable. FAIL\n"
                                                 : "[PING] all nodes reachable. success\n")};
}

Said iperf(const NodeSnapshot& snapshot, const CheckResult& result) {
  constexpr std::string_view kError = "[NETWORK] - [IPERF] - [ERROR] : ";
  const Observation* outcome = find_of(result, host_subject(), "bandwidth.outcome");
  if (outcome != nullptr && word_of(*outcome) == "no_targets")
    return {Outcome::aborted, "", std::string(kError) + "No nodes found. ABORT\n"};
  const std::string tables = throughput_tables(result);
  if (tables.empty()) return aborted(kNetworkTag, snapshot, result);
  if (has_fault(result))
    return {Outcome::failed, "",
            tables + std::string(kError) + "Nothing arrives from at least one node. FAIL\n"};
  if (has_unread(result))
    return {Outcome::aborted, "", tables + std::string(kError) + "Not all could be measured. ABORT\n"};
  return {Outcome::passed, "", tables};
}

}  // namespace autopilot::compat::ibm_autopilot
