// SPDX-License-Identifier: Apache-2.0
#include "checks/diagnostic_results.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"
#include "host/diagnostic_results/results.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_valid(const ResultForm& form, const Observation& found) {
  return found.value && (form.words.empty() ? as_number(*found.value).has_value()
                                            : is_one_of(form.words, to_string(*found.value)));
}

void add_malformed(const JudgeInput& input, const Observation& found, const Value& value,
                   Findings& findings) {
  findings.push_back(make_finding(input, found.subject, "malformed_answer", Health::unknown,
                                  found.name + " is '" + to_string(value) + "', which is not a valid value"));
  findings.back().evidence.emplace_back("witness", found.source);
}

// A diagnostic that ran on a subject and has no result for it proves nothing.
void add_without_result(const JudgeInput& input, const ResultForm& form, Findings& findings) {
  std::set<Subject> seen{host_subject()};
  for (const Observation& found : input.history.latest())
    if (is_one_of(form.found, found.name)) seen.insert(found.subject);
  for (const Observation& other : input.history.latest())
    if (seen.insert(other.subject).second)
      findings.push_back(make_finding(input, other.subject, "malformed_answer", Health::unknown,
                                      "the results of the diagnostic lack " +
                                          std::string(form.found.front()) + " for " +
                                          to_string(other.subject)));
}

// Why no subject has a result.
Finding nothing_found(const JudgeInput& input, const ResultForm& form, const Observation* outcome,
                      bool has_any) {
  const std::string word = outcome != nullptr && outcome->value ? to_string(*outcome->value) : "";
  if (has_any || (!word.empty() && word == form.nothing_to_test))
    return make_finding(input, host_subject(), "not_present", Health::unsupported,
                        "this machine has nothing to test");
  if (outcome == nullptr)
    return make_finding(input, host_subject(), "malformed_answer", Health::unknown,
                        "the results of the diagnostic lack " + std::string(form.outcome));
  if (word == form.outcomes.front())
    return make_finding(input, host_subject(), "malformed_answer", Health::unknown,
                        "the diagnostic ended, and its results lack " + std::string(form.found.front()));
  const std::string by = attribute_text(*outcome, "by");
  return make_finding(input, host_subject(), "could_not_look", Health::unknown,
                      "the diagnostic has not run yet: " + word + (by.empty() ? "" : " by " + by));
}

// " (multiprocessor 3: bits 0x4)"; empty if the diagnostic reports neither.
std::string place_of(const Observation& result) {
  const std::string where = attribute_text(result, "where");
  const std::string detail = attribute_text(result, "detail");
  if (where.empty() && detail.empty()) return "";
  return " (" + where + (where.empty() || detail.empty() ? "" : ": ") + detail + ")";
}

class RatesJudge {
 public:
  RatesJudge(const JudgeInput& input, std::span<const Rate> rates) : input_(input), rates_(rates) {
    for (const Rate& rate : rates)
      measured_.push_back(measured(input, rate.name));
  }

  [[nodiscard]] std::optional<Finding> judge(const Subject& gpu, const RateReasons& reasons) const {
    const auto model = input_.history.word(gpu, kGpuModel);
    if (!model) return std::nullopt;
    const catalog::GpuModel* known = input_.facts.gpu_model(*model);
    const auto promise = [&](std::size_t rate) {
      return known != nullptr && known->peaks ? rates_[rate].peak(*known->peaks) : std::nullopt;
    };
    const auto share_of_promise = [&](std::size_t rate, const Measured& one) -> std::optional<Limit> {
      const auto peak = promise(rate);
      if (!peak) return std::nullopt;
      return share_of(limit(input_, rates_[rate].peak_share), *peak, one.result->unit);
    };
    const auto share_of_siblings = [&](std::size_t rate, const Measured& one) -> std::optional<Limit> {
      const auto usual = median_of_others(one, measured_[rate], [&](const Measured& other) {
        return input_.history.word(other.result->subject, kGpuModel) == model;
      });
      if (!usual) return std::nullopt;
      return share_of(limit(input_, rates_[rate].sibling_share), *usual, one.result->unit);
    };
    const auto share_of_own = [&](std::size_t rate, const Measured& one) -> std::optional<Limit> {
      const auto before = usual_of(*one.result);
      if (!before || promise(rate)) return std::nullopt;
      return share_of(limit(input_, rates_[rate].own_share), *before, one.result->unit);
    };
    if (const auto slow = too_low(gpu, share_of_promise); !slow.empty())
      return make_slow_finding(input_, gpu, reasons.low, gpu_text(gpu), slow, "expected for " + *model);
    if (const auto slow = too_low(gpu, share_of_siblings); !slow.empty())
      return make_slow_finding(input_, gpu, reasons.differs, gpu_text(gpu), slow,
                               "expected from its siblings");
    if (const auto slow = too_low(gpu, share_of_own); !slow.empty())
      return make_slow_finding(input_, gpu, reasons.declined, gpu_text(gpu), slow,
                               "expected from its earlier diagnostics");
    return std::nullopt;
  }

 private:
  // The GPU's rates that are below the limit that `least_of` returns for them.
  template <typename LeastOf>
  [[nodiscard]] std::vector<TooLow> too_low(const Subject& gpu, const LeastOf& least_of) const {
    std::vector<TooLow> slow;
    for (std::size_t rate = 0; rate < rates_.size(); ++rate)
      for (const Measured& one : measured_[rate])
        if (one.result->subject == gpu)
          if (auto least = least_of(rate, one); least && one.value < least->value)
            slow.push_back({rates_[rate].word, rates_[rate].unit, one, *std::move(least)});
    return slow;
  }

  const JudgeInput& input_;
  std::span<const Rate> rates_;
  std::vector<std::vector<Measured>> measured_;  // by rate
};

}  // namespace

CheckInfo active_check_info(std::string_view id, std::string title, std::string_view domain,
                            std::string_view witness, Duration period) {
  return {.id = std::string(id),
          .title = std::move(title),
          .tags = {std::string(domain), "active"},
          .period = period,
          .deadline = std::chrono::seconds{5},
          .window = std::chrono::minutes{10},
          .cost = Cost::cheap,
          .witnesses = {std::string(witness)},
          .rights = {},
          .needs_window = false};
}

void note_tested(Observations& results) {
  for (Observation& result : results)
    if (result.missing != host::kNotTested)
      result.attributes.emplace_back("testedAt", format_time(result.time.wall));
}

Result<Observed> last_results(const host::Host& host, const Request& request, std::string_view check,
                              std::string_view witness) {
  Observed observed;
  observed.observations = TRY(host.tests.last(check));
  note_tested(observed.observations);
  for (Observation& observation : observed.observations)
    observation.time = request.now;
  observed.witnesses = {std::string(witness)};
  return observed;
}

void add_unusable(const JudgeInput& input, const ResultForm& form, Findings& findings) {
  const std::size_t before = findings.size();
  add_unread(input, host_subject(), form.outcome, findings);
  const Observation* outcome = input.history.find(host_subject(), form.outcome);
  if (outcome != nullptr && outcome->value && !is_one_of(form.outcomes, to_string(*outcome->value)))
    add_malformed(input, *outcome, *outcome->value, findings);
  bool has_any = false;
  bool has_good = false;
  for (const Observation& found : input.history.latest()) {
    if (!is_one_of(form.found, found.name)) continue;
    has_any = true;
    add_unread(input, found.subject, found.name, findings);
    if (is_valid(form, found))
      has_good = true;
    else if (found.value)
      add_malformed(input, found, *found.value, findings);
  }
  add_without_result(input, form, findings);
  if (!has_good && findings.size() == before)
    findings.push_back(nothing_found(input, form, outcome, has_any));
}

std::vector<Measured> measured(const JudgeInput& input, std::string_view name) {
  std::vector<Measured> all;
  for (const Observation& result : input.history.latest())
    if (const auto value = result.name == name && result.value ? as_number(*result.value) : std::nullopt)
      all.push_back({&result, *value});
  return all;
}

std::optional<double> usual_of(const Observation& rate) {
  const Value* usual = find_attribute(rate.attributes, host::kUsualBefore);
  return usual == nullptr ? std::nullopt : as_number(*usual);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::optional<double> median_of_others(const Measured& one, const std::vector<Measured>& all,
                                       const std::function<bool(const Measured&)>& is_alike) {
  std::vector<double> values;
  for (const Measured& other : all)
    if (other.result != one.result && is_alike(other)) values.push_back(other.value);
  if (values.size() + 1 < kFewestAlike) return std::nullopt;
  return median(std::move(values));
}

Limit share_of(Limit share, double whole, std::string_view unit) {
  share.value *= whole;
  share.unit = unit;
  return share;
}

void add_source(Finding& finding, const Observation& result) {
  finding.evidence.emplace_back("testedAt", attribute_text(result, "testedAt"));
  finding.evidence.emplace_back("witness", result.source);
}

Finding make_wrong_finding(const JudgeInput& input, const Measured& wrong, std::string_view reason,
                           std::string_view what) {
  const Observation& result = *wrong.result;
  Finding finding = make_finding(
      input, result.subject, reason, Health::degraded,
      gpu_text(result.subject) + " " + std::string(what) + ": " + rounded(wrong.value) + place_of(result));
  finding.evidence = result.attributes;
  finding.evidence.emplace_back("value", wrong.value);
  finding.evidence.emplace_back("failed", "results");
  finding.evidence.emplace_back("witness", result.source);
  return finding;
}

void add_wrong(const JudgeInput& input, std::string_view name, std::string_view reason, std::string_view what,
               Findings& findings) {
  for (const Measured& wrong : measured(input, name))
    if (wrong.value > 0) findings.push_back(make_wrong_finding(input, wrong, reason, what));
}

Finding make_slow_finding(const JudgeInput& input, const Subject& subject, std::string_view reason,
                          const std::string& subject_text, const std::vector<TooLow>& too_low,
                          const std::string& why) {
  std::string failed;
  std::string message = subject_text + " is slow";
  for (const TooLow& one : too_low) {
    message.append(failed.empty() ? ": " : "; ").append(one.word);
    message += " " + rounded(one.measured.value) + " " + std::string(one.unit) + ", at least " +
               rounded(one.least.value) + " " + why;
    failed.append(failed.empty() ? "" : ",").append(one.word);
  }
  const TooLow& first = too_low.front();
  Finding finding = make_finding(input, subject, reason, Health::degraded, std::move(message),
                                 first.measured.value, first.least);
  finding.evidence.emplace_back("failed", failed);
  add_source(finding, *first.measured.result);
  return finding;
}

std::optional<double> nvlink_peak(const JudgeInput& input, std::string_view name) {
  std::optional<std::string> model;
  for (const Measured& one : measured(input, name)) {
    const auto own = input.history.word(one.result->subject, kGpuModel);
    if (!own || (model && *model != *own)) return std::nullopt;
    model = own;
  }
  const auto* const known = model ? input.facts.gpu_model(*model) : nullptr;
  return known != nullptr && known->peaks ? known->peaks->nvlink_gigabytes_per_second : std::nullopt;
}

std::optional<double> memory_peak(const catalog::GpuPeaks& peaks) {
  return peaks.memory_gigabytes_per_second;
}

std::optional<double> fp64_peak(const catalog::GpuPeaks& peaks) {
  return peaks.fp64_tensor_teraflops ? peaks.fp64_tensor_teraflops : peaks.fp64_teraflops;
}

std::optional<double> bf16_peak(const catalog::GpuPeaks& peaks) {
  return peaks.bf16_teraflops;
}

void judge_rates(const JudgeInput& input, std::span<const Rate> rates, const RateReasons& reasons,
                 Findings& findings) {
  const RatesJudge judge(input, rates);
  for (const Subject& gpu : input.history.subjects(SubjectKind::gpu))
    if (auto finding = judge.judge(gpu, reasons)) findings.push_back(*std::move(finding));
}

}  // namespace autopilot::checks
