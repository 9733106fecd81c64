// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/own_deep_test_run.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>
#include <utility>

#include "core/parse.hpp"
#include "diagnostics/child/gpu_probe_run.hpp"
#include "diagnostics/child/gpu_probe_words.hpp"
#include "diagnostics/operations/own_deep_test_summary.hpp"

namespace autopilot::diagnostics {
namespace {

struct Options {
  std::vector<std::string> limits;  // arguments of the probe
  std::vector<std::string> memory_share;
  Expectation expectation;
  SimulatedMachine simulated;
};

Status take_threshold(const std::string& text, Options& options) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string id = text.substr(0, equals);
  const auto value = parse_number<double>(std::string_view(text).substr(std::min(equals + 1, text.size())));
  if (catalog::builtin().threshold(id) == nullptr || !value)
    return fail(Errc::malformed, "--threshold: expected ID=NUMBER, found " + text);
  options.expectation.thresholds[id] = *value;
  return {};
}

Status take(const std::string& name, const std::string& value, Options& options) {
  if (name == "--threshold") return take_threshold(value, options);
  if (name == "--seconds" || name == "--kernels")
    options.limits.insert(options.limits.end(), {name, value});
  else if (name == "--memory-share")
    options.memory_share = {name, value};
  else if (name == "--tree")
    options.simulated.tree = value;
  else if (name == "--library")
    options.simulated.library = value;
  else if (name == "--cuda-library")
    options.simulated.cuda_library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (auto at = arguments.begin(); at != arguments.end(); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    TRY_STATUS(take(*at, *std::next(at), options));
  }
  return options;
}

void tell(const Observations& observations) {
  for (const Observation& one : observations) {
    const Value* const why = find_attribute(one.attributes, "error");
    std::cout << one.name.text() << ' ' << to_string(one.subject) << ' '
              << (one.value ? to_string(*one.value) : one.missing.text());
    if (!one.unit.text().empty()) std::cout << ' ' << one.unit.text();
    if (why != nullptr) std::cout << ": " << to_string(*why);
    std::cout << '\n';
  }
}

void tell(const JudgedTest& test) {
  std::cout << test.check << (test.findings.empty() ? ": healthy\n" : ":\n");
  for (const Finding& finding : test.findings)
    std::cout << "  " << to_string(finding.health) << ' ' << finding.reason << ": " << finding.message
              << '\n';
  std::cout << std::flush;
}

class OwnDeepTest {
 public:
  OwnDeepTest(const Options& options, const host::OpenedHost& opened, std::span<const host::GpuDevice> gpus,
              MonoTime until)
      : options_(options), opened_(opened), gpus_(gpus), until_(until) {}

  [[nodiscard]] JudgedTest make(const GpuProbeTest& test) const {
    Result<Observations> measured = measure(test);
    if (measured) tell(*measured);
    JudgedTest judged = judge_probe_test(test, std::move(measured), opened_.host->clock.now(),
                                         catalog::builtin(), options_.expectation);
    if (!std::ranges::all_of(judged.findings, is_wrong_result))
      if (const auto user = user_who_stays(opened_, {})) discount(*user, judged);
    tell(judged);
    return judged;
  }

 private:
  [[nodiscard]] Result<Observations> measure(const GpuProbeTest& test) const {
    GpuProbeRun run{.tests = test.tests, .limits = options_.limits, .simulated = options_.simulated};
    if (test.takes_memory_share)
      run.limits.insert(run.limits.end(), options_.memory_share.begin(), options_.memory_share.end());
    return gpu_probe_observations(test, TRY(probe_gpus(run, gpus_, until_)), gpus_);
  }

  const Options& options_;
  const host::OpenedHost& opened_;
  std::span<const host::GpuDevice> gpus_;
  MonoTime until_;
};

Result<DeepTestSummary> test_gpus(const std::vector<std::string>& arguments, MonoTime until) {
  const Options options = TRY(parse_options(arguments));
  const host::OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto gpus = TRY(look_at_gpus(opened, {}));
  if (const auto user = TRY(user_of(gpus))) return fail(Errc::unavailable, "GPU in use by " + *user);
  const OwnDeepTest own(options, opened, gpus, until);
  std::vector<JudgedTest> tests;
  for (const GpuProbeTest& test : gpu_probe_tests())
    tests.push_back(own.make(test));
  return deep_test_summary(tests, gpus);
}

bool belongs_to_probe(std::string_view threshold) {
  return std::ranges::any_of(gpu_probe_tests(), [threshold](const GpuProbeTest& test) {
    return threshold.starts_with(std::string(test.check) + '.');
  });
}

}  // namespace

std::vector<std::string> own_deep_test_arguments(const config::Config& config) {
  const config::GpuProbe& probe = config.gpu_probe;
  std::vector<std::string> arguments{"--seconds", to_string(Value{to_seconds(config.deep_test.time)}),
                                     "--memory-share", to_string(Value{probe.memory_percent / 100.0})};
  if (probe.kernels != config::GpuProbe{}.kernels)
    arguments.insert(arguments.end(), {"--kernels", probe.kernels});
  for (const auto& [id, value] : config.expectation.thresholds)
    if (belongs_to_probe(id))
      arguments.insert(arguments.end(), {"--threshold", id + '=' + to_string(Value{value})});
  return arguments;
}

DeepTestSummary run_own_deep_test(const std::vector<std::string>& arguments, MonoTime until) {
  auto summary = test_gpus(arguments, until);
  if (summary) return *std::move(summary);
  DeepTestSummary none;
  none.problem = summary.error().what;
  std::cerr << "autopilot helper deep-test: " << none.problem << '\n';
  return none;
}

}  // namespace autopilot::diagnostics
