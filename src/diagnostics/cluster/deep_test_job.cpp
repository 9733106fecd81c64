// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/deep_test_job.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "diagnostics/cluster/own_pod.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

constexpr std::string_view kNameBegin = "autopilot-deep-test-";
constexpr int kKeptSeconds =
    3600;                        // keeps the log for people, and the result for an agent that was not running
constexpr int kEndSeconds = 10;  // from SIGTERM to SIGKILL
constexpr int kUser = 65532;     // any user but root

std::int64_t whole_seconds_of(Duration duration) {
  return std::chrono::floor<std::chrono::seconds>(duration).count();
}

json::array words(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::array helper_command(const DeepTestJobSettings& settings, std::int64_t gpus) {
  std::vector<std::string> command{"autopilot",
                                   "helper",
                                   "deep-test",
                                   "--output",
                                   "/dev/termination-log",
                                   "--deadline",
                                   format_duration(settings.deadline),
                                   "--gpus",
                                   std::to_string(gpus)};
  if (settings.is_own) command.insert(command.end(), {"--tests", "own"});
  command.emplace_back("--");
  command.insert(command.end(), settings.command.begin(), settings.command.end());
  return words(command);
}

json::object container(const DeepTestJobSettings& settings, const DeepTestJob& job) {
  json::object devices;
  std::int64_t gpus = 0;
  for (const auto& [resource, count] : job.devices) {
    devices[resource] = std::to_string(count);
    gpus += count;
  }
  json::object container{
      {"name", kTestContainer},
      {"image", settings.image},
      {"command", helper_command(settings, gpus)},
      {"terminationMessagePath", "/dev/termination-log"},
      {"terminationMessagePolicy", "File"},
      {"resources", json::object{{"requests", devices}, {"limits", devices}}},
      {"securityContext", json::object{{"allowPrivilegeEscalation", false},
                                       {"capabilities", json::object{{"drop", json::array{"ALL"}}}}}}};
  // The CUDA library and NVML: our image does not declare which parts of the driver it needs.
  if (settings.is_own)
    container["env"] =
        json::array{json::object{{"name", "NVIDIA_DRIVER_CAPABILITIES"}, {"value", "compute,utility"}}};
  return container;
}

json::array tolerations(const DeepTestJobSettings& settings, bool is_cordoned) {
  json::array list{
      json::object{{"key", settings.prefix + "/testing"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}};
  for (const std::string& key : settings.tolerated)
    list.emplace_back(json::object{{"key", key}, {"operator", "Exists"}});
  if (is_cordoned)
    list.emplace_back(json::object{{"key", kCordonTaint}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  return list;
}

json::object affinity(const std::string& node) {
  const json::object field{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{node}}};
  const json::object term{{"matchFields", json::array{field}}};
  const json::object selector{{"nodeSelectorTerms", json::array{term}}};
  return {{"nodeAffinity", json::object{{"requiredDuringSchedulingIgnoredDuringExecution", selector}}}};
}

json::object pod_spec(const DeepTestJobSettings& settings, const DeepTestJob& job) {
  json::array secrets;
  for (const std::string& name : settings.pull_secrets)
    secrets.emplace_back(json::object{{"name", name}});
  return {{"restartPolicy", "Never"},
          {"automountServiceAccountToken", false},
          {"enableServiceLinks", false},
          {"terminationGracePeriodSeconds", kEndSeconds},
          {"affinity", affinity(job.node)},
          {"tolerations", tolerations(settings, job.is_cordoned)},
          {"imagePullSecrets", std::move(secrets)},
          {"securityContext", json::object{{"runAsNonRoot", true},
                                           {"runAsUser", kUser},
                                           {"runAsGroup", kUser},
                                           {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}}},
          {"containers", json::array{container(settings, job)}}};
}

json::object metadata(const DeepTestJobSettings& settings, const DeepTestJob& job,
                      const json::object& labels) {
  json::object meta{{"name", deep_test_job_name(job.node, job.since)},
                    {"namespace", settings.name_space},
                    {"labels", labels},
                    {"annotations", json::object{{settings.prefix + "/node", job.node}}}};
  if (settings.owner)
    meta["ownerReferences"] = json::array{json::object{{"apiVersion", settings.owner->api_version},
                                                       {"kind", settings.owner->kind},
                                                       {"name", settings.owner->name},
                                                       {"uid", settings.owner->uid}}};
  return meta;
}

}  // namespace

std::string deep_test_job_name(std::string_view node, WallTime since) {
  return std::string(kNameBegin) + stable_hash(node).hex() + '-' +
         std::to_string(whole_seconds_of(since.time_since_epoch()));
}

std::optional<WallTime> deep_test_job_since(std::string_view node, std::string_view name) {
  const std::string begin = std::string(kNameBegin) + stable_hash(node).hex() + '-';
  if (!name.starts_with(begin)) return std::nullopt;
  const auto since = parse_number<std::uint32_t>(name.substr(begin.size()));
  if (!since) return std::nullopt;
  return WallTime{std::chrono::seconds{*since}};
}

std::string deep_test_selector(std::string_view prefix, std::string_view node) {
  return std::string(prefix) + "/deep-test-of=" + node_label_value(node);
}

std::string deep_test_job(const DeepTestJobSettings& settings, const DeepTestJob& job) {
  const json::object labels{{"app.kubernetes.io/name", "autopilot"},
                            {"app.kubernetes.io/component", "deep-test"},
                            {settings.prefix + "/deep-test-of", node_label_value(job.node)}};
  const json::object pod{{"metadata", json::object{{"labels", labels}}}, {"spec", pod_spec(settings, job)}};
  const json::object spec{{"backoffLimit", 0},
                          {"activeDeadlineSeconds", whole_seconds_of(job.deadline)},
                          {"ttlSecondsAfterFinished", kKeptSeconds},
                          {"template", pod}};
  return json::serialize(json::object{{"apiVersion", "batch/v1"},
                                      {"kind", "Job"},
                                      {"metadata", metadata(settings, job, labels)},
                                      {"spec", spec}});
}

namespace {

using host::DcgmStatus;
using Test = DeepTestSummary::Test;

constexpr std::int64_t kSomethingFailed = 1;  // exit code of the helper

DeepTestResult not_tested(std::string why) {
  DeepTestResult result;
  result.why = std::move(why);
  return result;
}

// The record on the node is read again by names of tests: an excused test is listed by its error.
std::string detail_of(const Test& test, bool is_excused) {
  std::string text =
      is_excused ? "dcgm_error_" + std::to_string(test.error.value_or(0)) : host::test_word(test.name);
  for (const std::uint32_t gpu : test.gpus)
    text += '.' + std::to_string(gpu);
  return text;
}

// Why a diagnostic without failures does not prove the GPUs healthy; empty: it does.
std::string doubt(const kube::ContainerEnd& end, const DeepTestSummary& summary) {
  if (!summary.problem.empty()) return summary.problem;
  if (end.exit_code == kSomethingFailed) return "it ended with failures and names none";
  if (end.exit_code != 0) return "it ended with " + std::to_string(end.exit_code) + ' ' + end.reason;
  const auto passed = [](const Test& test) { return test.status >= DcgmStatus::pass; };
  return std::ranges::any_of(summary.tests, passed) ? "" : "every test was skipped";
}

}  // namespace

std::vector<host::DcgmGpu> DeepTestResult::passed_gpus() const {
  if (!summary.problem.empty() || outcome == DeepTestOutcome::not_tested) return {};
  // Tests that were left out may be as bad as the last listed test.
  if (summary.left_out > 0 && summary.tests.back().status > DcgmStatus::pass) return {};
  std::vector<host::DcgmGpu> passed = summary.gpus;
  for (const Test& test : summary.tests) {
    if (test.status <= DcgmStatus::pass) continue;
    if (test.gpus.empty()) return {};
    std::erase_if(passed, [&](const host::DcgmGpu& gpu) {
      return std::ranges::find(test.gpus, gpu.id) != test.gpus.end();
    });
  }
  return passed;
}

DeepTestResult deep_test_result(const kube::Pod& pod, std::span<const std::string> fatal,
                                std::span<const host::DcgmExcuse> excuses) {
  const auto end = std::ranges::find(pod.ends, kTestContainer, &kube::ContainerEnd::name);
  if (end == pod.ends.end()) return not_tested("its pod ended before its container started");
  auto summary = parse_deep_test_summary(end->message);
  if (!summary)
    return not_tested("it ended with " + std::to_string(end->exit_code) + ' ' + end->reason +
                      " and left no result (" + summary.error().what + ")");
  DeepTestResult result;
  result.summary = std::move(*summary);
  for (const Test& test : result.summary.tests) {
    if (test.status != DcgmStatus::fail) continue;
    const bool is_excused = host::is_excused(test.error, test.message, excuses);
    const std::string detail = detail_of(test, is_excused);
    const auto told = split(result.failed, ',');
    if (std::ranges::find(told, std::string_view(detail)) == told.end())
      result.failed += (result.failed.empty() ? "" : ",") + detail;
    const bool is_worst = !is_excused && host::is_fatal_test(host::test_word(test.name), fatal);
    result.outcome = std::max(result.outcome, is_worst ? DeepTestOutcome::fatal : DeepTestOutcome::failed);
  }
  if (result.outcome != DeepTestOutcome::not_tested) return result;
  result.why = doubt(*end, result.summary);
  if (result.why.empty()) result.outcome = DeepTestOutcome::passed;
  return result;
}

}  // namespace autopilot::diagnostics
