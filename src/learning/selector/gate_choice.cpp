// SPDX-License-Identifier: Apache-2.0
#include "learning/selector/gate_choice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "learning/selector/fault_priors.hpp"
#include "learning/values/labels.hpp"

namespace autopilot::learning {
namespace {

constexpr Duration kShortestHistory = std::chrono::hours{1};
constexpr Duration kMostHistory = std::chrono::hours{24 * 365};
constexpr double kMinutesOfProof = 1e-6;  // what a diagnostic costs that does not run again

std::string with_two_digits(double value) {
  constexpr double kLeast = 0.001;
  if (value < kLeast) return "less than 0.001";
  constexpr double kMostWithFraction = 9.5;
  std::array<char, 32> text{};
  // NOLINTNEXTLINE(cert-err33-c): a number of GPU-hours or minutes always fits
  std::snprintf(text.data(), text.size(), value < kMostWithFraction ? "%.2g" : "%.0f", value);
  return text.data();
}

double hours_of(Duration time) {
  return to_seconds(time) / 3600;
}

double minutes_of(Duration time) {
  return to_seconds(time) / 60;
}

// "3h ago"
std::string age_text(Duration age) {
  const auto unit = age < std::chrono::minutes{2} ? Duration{std::chrono::seconds{1}}
                    : age < std::chrono::hours{2} ? Duration{std::chrono::minutes{1}}
                                                  : Duration{std::chrono::hours{1}};
  return format_duration(age - age % unit) + " ago";
}

// An event after which all diagnostics must pass again.
struct Change {
  WallTime time{};
  std::string what;  // "a repair ended"
};

void take_later(std::optional<Change>& last, WallTime time, const WallTime now, std::string_view what) {
  if (time <= now && (!last || time > last->time)) last = Change{time, std::string(what)};
}

std::optional<Change> last_repair(const NodePast& past, WallTime now) {
  std::optional<Change> last;
  for (const Repair& repair : past.repairs)
    if (repair.end) take_later(last, *repair.end, now, "a repair of the node ended");
  for (const Fault& fault : past.faults)
    if (fault.end && !is_of_job(fault) && fault.kind == FaultClass::hardware &&
        fault.health == Health::failed)
      take_later(last, *fault.end, now, "a failure of the hardware ended");
  return last;
}

bool differs(const std::string& before, const std::string& now) {
  return !before.empty() && !now.empty() && before != now;
}

std::optional<Change> last_version_change(std::vector<Versions> versions, WallTime now) {
  std::ranges::sort(versions, {}, [](const Versions& one) { return std::pair(one.time, one.id); });
  std::optional<Change> last;
  std::string driver;
  std::string firmware;
  for (const Versions& one : versions) {
    if (differs(driver, one.driver)) take_later(last, one.time, now, "the driver changed");
    if (differs(firmware, one.firmware)) take_later(last, one.time, now, "the firmware changed");
    if (!one.driver.empty()) driver = one.driver;
    if (!one.firmware.empty()) firmware = one.firmware;
  }
  return last;
}

// The diagnostic that passed longest ago; null: there is none with pass records.
const GateDiagnostic* oldest_of(const std::vector<GateDiagnostic>& diagnostics) {
  const GateDiagnostic* oldest = nullptr;
  for (const GateDiagnostic& one : diagnostics) {
    if (one.is_of_host) continue;
    if (!one.passed) return &one;
    if (oldest == nullptr || *one.passed < *oldest->passed) oldest = &one;
  }
  return oldest;
}

class GateChooser {
 public:
  explicit GateChooser(const GateInput& input) : input_(input) {}

  Result<GateSelection> choose() {
    find_full_reason();
    const SelectionInput wanted = TRY(selection_input());
    const Selection selection = TRY(select_diagnostics(wanted, result_.full));
    take(selection);
    if (result_.full == FullReason::none) result_.reason = reason_of(wanted);
    return std::move(result_);
  }

 private:
  void find_full_reason() {
    const GateDiagnostic* oldest = oldest_of(input_.diagnostics);
    if (oldest == nullptr) return;
    const auto repair = last_repair(input_.past, input_.now);
    const auto change = last_version_change(input_.past.versions, input_.now);
    const auto is_since = [oldest](const std::optional<Change>& event) {
      return event && (!oldest->passed || *oldest->passed <= event->time);
    };
    SinceFull since{std::nullopt, is_since(repair), is_since(change)};
    if (oldest->passed) since.age = std::max(Duration{0}, input_.now - *oldest->passed);
    result_.full = full_reason(since);
    for (const auto& event : {repair, change})
      if (is_since(event)) result_.proofs_since = std::max(result_.proofs_since, std::optional(event->time));
    if (result_.full != FullReason::none)
      result_.reason = "all diagnostics of the node must pass, because " +
                       cause_of(*oldest, since.is_repaired ? repair : change);
  }

  [[nodiscard]] std::string cause_of(const GateDiagnostic& oldest, const std::optional<Change>& event) const {
    if (result_.full != FullReason::no_recent_full)
      return event->what + " " + age_text(input_.now - event->time);
    if (!oldest.passed) return "no pass of " + oldest.check + " on all GPUs is recorded";
    return oldest.check + " passed " + age_text(input_.now - *oldest.passed) + ", which is more than 30 days";
  }

  [[nodiscard]] Duration run_time() const { return input_.job.run_time.value_or(kUsualRunTime); }

  Result<SelectionInput> selection_input() {
    SelectionInput wanted{.hazards = {TRY(expected())},
                          .risks = risks(),
                          .diagnostics = {},
                          .recall = recall(),
                          .gpus_of_node = input_.job.gpus_of_node,
                          .false_positive_gpu_hours = input_.job.gpus_of_node,
                          .most_minutes = minutes_of(input_.limit)};
    const bool has_quick = std::ranges::any_of(
        input_.diagnostics, [](const GateDiagnostic& one) { return one.is_quick || one.is_of_host; });
    for (const GateDiagnostic& one : input_.diagnostics) {
      const bool is_first = !has_quick && &one == &input_.diagnostics.front();
      wanted.diagnostics.push_back({one.check, one.is_proven ? kMinutesOfProof : minutes_of(one.time),
                                    one.is_proven ? 0 : kFalsePositives,
                                    one.is_quick || one.is_of_host || one.is_proven || is_first});
    }
    return wanted;
  }

  // Faults of the node that are expected while the job runs.
  Result<double> expected() const {
    WallTime origin = input_.now - kShortestHistory;
    std::vector<Fault> faults;
    for (const Fault& fault : input_.past.faults) {
      if (fault.begin >= input_.now) continue;
      Fault& known = faults.emplace_back(fault);
      known.place = {};
      if (known.end && *known.end > input_.now) known.end.reset();
      origin = std::min(origin, known.begin);
    }
    origin = std::max(origin, input_.now - kMostHistory);
    const double now = day_of(input_.now, origin);
    const double end = now + hours_of(run_time()) / 24;
    const auto fleet = TRY(make_fleet_history(node_faults(faults, input_.past.labels, origin), 1, now));
    const HazardModel model = fit_hazard(fleet, now).value_or(prior_hazard());
    if (fleet.nodes.empty()) return expected_faults_without_return(model, now, end);
    return expected_faults(model, fleet.nodes.front(), now, end);
  }

  std::vector<FaultRisk> risks() const {
    double all = 0;
    for (const ClassPrior& prior : kClassPriors)
      all += prior.faults;
    std::vector<FaultRisk> risks;
    double counted = 0;
    for (const ClassPrior& prior : kClassPriors) {
      double faults = kPriorFaultsOfClasses * prior.faults / all;
      double degraded = faults * kPriorShareOfDegradations;
      for (const Fault& fault : input_.past.faults) {
        if (fault.kind != prior.kind || is_of_job(fault)) continue;
        ++faults;
        if (fault.health == Health::degraded) ++degraded;
      }
      counted += faults;
      risks.push_back({std::string(prior.word), faults, loss_of(degraded / faults)});
    }
    for (FaultRisk& risk : risks)
      risk.share /= counted;
    return risks;
  }

  // GPU-hours of a fault, if that share of faults are degradations.
  [[nodiscard]] double loss_of(double degraded) const {
    const double hours = hours_of(run_time());
    const double fatal = std::min(kHoursOfFatalFault, hours);
    return input_.job.gpus * ((1 - degraded) * fatal + degraded * kShareOfDegradation * hours / 2);
  }

  std::vector<Recall> recall() const {
    std::vector<RecallPrior> priors;
    for (const DiagnosticPrior& prior : kDiagnosticPriors)
      priors.push_back({std::string(prior.check), word_of_class(prior.kind), prior.recall});
    std::vector<RecallCase> cases;
    for (const SettledFault& settled :
         settle(input_.past.faults, input_.past.labels, {}, input_.past.repairs))
      if (settled.answer == LabelAnswer::faulty && settled.trust >= kLeastTrust)
        add_cases(settled.fault, cases);
    return recall_matrix(priors, cases);
  }

  static std::string word_of_class(FaultClass kind) {
    const auto prior = std::ranges::find(kClassPriors, kind, &ClassPrior::kind);
    return prior == kClassPriors.end() ? std::string() : std::string(prior->word);
  }

  // One case for each validation while the fault was there.
  void add_cases(const std::string& id, std::vector<RecallCase>& cases) const {
    const auto fault = std::ranges::find(input_.past.faults, id, &Fault::id);
    const std::string word = word_of_class(fault->kind);
    if (word.empty()) return;
    for (const Validation& validation : input_.past.validations) {
      if (validation.start < fault->begin || (fault->end && validation.end > *fault->end)) continue;
      std::map<std::string, bool> is_found;
      for (const CheckOutcome& outcome : validation.checks) {
        if (outcome.health == Health::unknown || outcome.health == Health::unsupported) continue;
        is_found[outcome.check] |= outcome.health != Health::healthy;
      }
      RecallCase& one = cases.emplace_back(RecallCase{word, {}, {}});
      for (const auto& [check, has_found] : is_found) {
        one.ran.push_back(check);
        if (has_found) one.found.push_back(check);
      }
    }
  }

  void take(const Selection& selection) {
    for (const GateDiagnostic& one : input_.diagnostics) {
      const auto left = std::ranges::find(selection.left_out, one.check, &Choice::check);
      if (left == selection.left_out.end())
        result_.checks.push_back(one.check);
      else
        result_.left_out.push_back({one.check, why_left_out(one, *left, selection.minutes)});
    }
  }

  [[nodiscard]] std::string why_left_out(const GateDiagnostic& one, const Choice& left,
                                         double minutes) const {
    const double cost = minutes_of(one.time) / 60 * input_.job.gpus_of_node;
    const std::string saved = with_two_digits(std::max(0.0, left.value + cost));
    if (left.value <= 0)
      return "it would take " + with_two_digits(cost) + " GPU-hours and is expected to save " + saved;
    return "it takes " + with_two_digits(left.minutes) + " min, and the others leave " +
           with_two_digits(std::max(0.0, minutes_of(input_.limit) - minutes)) +
           " min of the time limit; it is expected to save " + saved + " GPU-hours";
  }

  [[nodiscard]] std::string reason_of(const SelectionInput& wanted) const {
    return std::to_string(result_.checks.size()) + " of " + std::to_string(input_.diagnostics.size()) +
           " diagnostics are chosen by the history of the node: " + with_two_digits(wanted.hazards.front()) +
           " faults are expected in " + format_duration(run_time()) + " of a job with " +
           with_two_digits(input_.job.gpus) + " GPUs";
  }

  const GateInput& input_;
  GateSelection result_;
};

}  // namespace

HazardModel prior_hazard() {
  return {.base_per_day = 0.0025, .terms = {{0.05, 0.17}, {0.3, 0.13}, {3, 0.18}, {30, 0.15}}};
}

Result<GateSelection> choose_for_gate(const GateInput& input) {
  return GateChooser(input).choose();
}

}  // namespace autopilot::learning
