// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/operations/own_deep_diagnostic.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "checks/check.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "core/history.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "runtime/conclude.hpp"

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

namespace {

using host::DcgmStatus;

constexpr std::string_view kWitness = "probe";

// What kernels make of the memory of a GPU may be wrong by its memory or by its arithmetic.
constexpr std::array kNames{
    DeepTestNames{"gpu.pcie_bandwidth", "pcie", "host_bandwidth"},
    DeepTestNames{"gpu.memory_bandwidth", "compute", "memory_bandwidth"},
    DeepTestNames{"gpu.compute", "compute", "arithmetic_speed"},
    DeepTestNames{"gpu.memory_test", "memory", ""},
    DeepTestNames{"gpu.sdc", "sdc", ""},
    DeepTestNames{"gpu.p2p", "nvlink", "peer_bandwidth"},
};

const DeepTestNames& names_of(std::string_view check) {
  const auto* const found = std::ranges::find(kNames, check, &DeepTestNames::check);
  AUTOPILOT_ASSERT(found != kNames.end());
  return *found;
}

Observations with_source(Observations found, Instant now) {
  for (Observation& observation : found) {
    observation.source = kWitness;
    observation.time = now;
    observation.attributes.emplace_back("testedAt", format_time(now.wall));
  }
  return found;
}

bool is_failure(const Finding& finding) {
  return finding.health == Health::degraded || finding.health == Health::failed;
}

bool is_about_nothing(const Finding& finding) {
  return finding.health == Health::unsupported && finding.subject == host_subject();
}

std::string with_subject(const Finding& finding) {
  const Subject& subject = finding.subject;
  if (subject.kind != SubjectKind::gpu || finding.message.find(subject.key) != std::string::npos)
    return finding.message;
  return checks::gpu_text(subject) + ": " + finding.message;
}

// A part of the test is missing.
bool is_gap(const Finding& finding) {
  return !is_failure(finding) && !is_about_nothing(finding);
}

class Summary {
 public:
  explicit Summary(std::span<const host::GpuDevice> gpus) : gpus_(gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i)
      tested_.insert(i);
  }

  void add(const JudgedTest& test) {
    const DeepTestNames& names = names_of(test.check);
    for (const Finding& finding : test.findings) {
      if (is_gap(finding)) add_gap(test, finding);
      if (is_failure(finding)) add_failure(name_of(names, finding), finding);
    }
    add_rest(names.wrong, test, &is_wrong_result);
    if (!names.slow.empty())
      add_rest(names.slow, test, [](const Finding& finding) { return !is_wrong_result(finding); });
  }

  [[nodiscard]] DeepTestSummary take() && {
    for (const std::size_t place : tested_)
      all_.gpus.push_back({number_of(place), gpus_[place].subject.serial});
    return summary_of(all_);
  }

 private:
  static std::string_view name_of(const DeepTestNames& names, const Finding& finding) {
    return names.slow.empty() || is_wrong_result(finding) ? names.wrong : names.slow;
  }

  void add_failure(std::string_view name, const Finding& finding) {
    add_result(name, places_of(finding.subject), DcgmStatus::fail, finding.message);
  }

  // Reports the first gap of each GPU.
  void add_gap(const JudgedTest& test, const Finding& finding) {
    const std::set<std::size_t> of = places_of(finding.subject);
    if (of.empty()) tested_.clear();
    bool is_told = !of.empty();
    for (const std::size_t place : of) {
      tested_.erase(place);
      is_told = !told_gpus_.insert(place).second && is_told;
    }
    const std::string message = with_subject(finding);
    if (is_told || !told_.insert(message).second) return;
    if (!all_.runtime_error.empty()) all_.runtime_error += "; ";
    all_.runtime_error += std::string(test.check) + ": " + message;
  }

  // Adds a pass for GPUs without a finding, if the test ran.
  template <typename Concerns>
  void add_rest(std::string_view name, const JudgedTest& test, const Concerns& concerns) {
    std::set<std::size_t> rest;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      rest.insert(i);
    for (const Finding& finding : test.findings) {
      if (is_about_nothing(finding)) return add_result(name, {}, DcgmStatus::skip, finding.message);
      if (is_failure(finding) && !concerns(finding)) continue;
      const std::set<std::size_t> of = places_of(finding.subject);
      if (of.empty()) return;
      for (const std::size_t place : of)
        rest.erase(place);
    }
    if (!rest.empty()) add_result(name, rest, DcgmStatus::pass, "");
  }

  void add_result(std::string_view name, const std::set<std::size_t>& places, DcgmStatus status,
                  const std::string& message) {
    host::DcgmResult result{.category = {},
                            .test = std::string(name),
                            .gpus = {},
                            .entity = {},
                            .status = status,
                            .messages = {}};
    for (const std::size_t place : places)
      result.gpus.push_back(number_of(place));
    if (!message.empty()) result.messages.push_back({message, std::nullopt});
    all_.results.push_back(std::move(result));
  }

  // A link is of both its ends. Empty: of no certain GPU.
  [[nodiscard]] std::set<std::size_t> places_of(const Subject& subject) const {
    std::set<std::size_t> places;
    const auto [one, other] = subject.kind == SubjectKind::link
                                  ? ends_of(subject)
                                  : std::pair<std::string_view, std::string_view>(subject.key, "");
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i].subject.key == one || gpus_[i].subject.key == other) places.insert(i);
    return places;
  }

  // Numbers as the driver counts them.
  [[nodiscard]] std::uint32_t number_of(std::size_t place) const {
    const std::optional<int> index = gpus_[place].subject.index;
    return static_cast<std::uint32_t>(index && *index >= 0 ? *index : static_cast<int>(place));
  }

  std::span<const host::GpuDevice> gpus_;
  std::set<std::size_t> tested_;  // places in gpus_
  std::set<std::size_t> told_gpus_;
  std::set<std::string> told_;  // messages
  host::DcgmDiagnosis all_;
};

}  // namespace

std::span<const DeepTestNames> deep_test_names() {
  return kNames;
}

JudgedTest judge_probe_test(const GpuProbeTest& test, Result<Observations> found, Instant now,
                            const catalog::Catalog& facts, const Expectation& expectation) {
  const checks::Check* const check = checks::find_check(test.check);
  AUTOPILOT_ASSERT(check != nullptr);
  if (!found) return {test.check, {runtime::cannot_look(check->info, found.error())}};
  checks::Observed observed;
  observed.observations = with_source(*std::move(found), now);
  History history;
  return {test.check, runtime::conclude(*check, std::move(observed), check->info.window, now, facts,
                                        expectation, history)};
}

bool is_wrong_result(const Finding& finding) {
  const Value* const failed = find_attribute(finding.evidence, "failed");
  return is_failure(finding) && failed != nullptr && to_string(*failed) == "results";
}

void discount(const std::string& user, JudgedTest& test) {
  std::erase_if(test.findings, [](const Finding& finding) { return !is_wrong_result(finding); });
  Finding in_use;
  in_use.subject = host_subject();
  in_use.reason = "could_not_look";
  in_use.message = "GPU in use by " + user;
  test.findings.push_back(std::move(in_use));
}

DeepTestSummary deep_test_summary(std::span<const JudgedTest> tests, std::span<const host::GpuDevice> gpus) {
  Summary summary(gpus);
  for (const JudgedTest& test : tests)
    summary.add(test);
  return std::move(summary).take();
}

}  // namespace autopilot::diagnostics
