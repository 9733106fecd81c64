// SPDX-License-Identifier: Apache-2.0
#include "learning/selector/selector.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace autopilot::learning {
namespace {

bool is_amount(double value) {
  return std::isfinite(value) && value >= 0;
}

Status refuse(const std::string& what) {
  return fail(Errc::malformed, "selection of diagnostics: " + what);
}

Status validate(const SelectionInput& input) {
  if (input.diagnostics.size() > kMostDiagnostics)
    return fail(Errc::exhausted, "selection of diagnostics: " + std::to_string(input.diagnostics.size()) +
                                     " diagnostics; at most " + std::to_string(kMostDiagnostics));
  if (!std::ranges::all_of(input.hazards, is_amount)) return refuse("a hazard is negative or not a number");
  for (const FaultRisk& risk : input.risks)
    if (!is_amount(risk.share) || !is_amount(risk.loss_gpu_hours))
      return refuse("the share or loss of " + risk.fault_class + " is negative or not a number");
  std::vector<std::string_view> names;
  for (const Diagnostic& diagnostic : input.diagnostics) {
    if (!is_amount(diagnostic.minutes) || diagnostic.minutes == 0 || !is_amount(diagnostic.false_positives))
      return refuse(diagnostic.check + " has an invalid duration or probability of false positives");
    names.push_back(diagnostic.check);
  }
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) return refuse("two diagnostics have one name");
  if (!is_amount(input.gpus_of_node) || !is_amount(input.false_positive_gpu_hours))
    return refuse("the GPUs of a node or the cost of a false positive are not valid");
  return {};
}

class Selector {
 public:
  explicit Selector(const SelectionInput& input) : input_(input) {
    for (const Diagnostic& diagnostic : input.diagnostics)
      left_.push_back(&diagnostic);
    std::ranges::sort(left_, {}, [](const Diagnostic* one) { return std::string_view(one->check); });
    double any = 0;
    for (const double hazard : input.hazards)
      any += 1 - std::exp(-hazard);
    for (const FaultRisk& risk : input.risks)
      residual_.push_back(any * risk.share);
  }

  void add_floor(bool is_full) {
    for (const Diagnostic* diagnostic : std::vector(left_))
      if (is_full || diagnostic->is_quick) take(diagnostic, true);
  }

  void add_worthwhile() {
    while (const Diagnostic* best = most_worth())
      take(best, false);
  }

  [[nodiscard]] Selection result() && {
    for (const Diagnostic* diagnostic : left_)
      selection_.left_out.push_back({diagnostic->check, diagnostic->minutes, value_of(*diagnostic), false});
    for (const double residual : residual_)
      selection_.escaped += residual;
    return std::move(selection_);
  }

 private:
  [[nodiscard]] double recall(const Diagnostic& diagnostic, std::size_t risk) const {
    return recall_of(input_.recall, diagnostic.check, input_.risks[risk].fault_class);
  }

  [[nodiscard]] double value_of(const Diagnostic& diagnostic) const {
    constexpr double kMinutesOfHour = 60;
    const auto nodes = static_cast<double>(input_.hazards.size());
    double value = -diagnostic.minutes / kMinutesOfHour * input_.gpus_of_node * nodes -
                   diagnostic.false_positives * nodes * input_.false_positive_gpu_hours;
    for (std::size_t i = 0; i < residual_.size(); ++i)
      value += residual_[i] * recall(diagnostic, i) * input_.risks[i].loss_gpu_hours;
    return value;
  }

  [[nodiscard]] bool fits(const Diagnostic& diagnostic) const {
    return !input_.most_minutes || selection_.minutes + diagnostic.minutes <= *input_.most_minutes;
  }

  [[nodiscard]] const Diagnostic* most_worth() const {
    const Diagnostic* best = nullptr;
    double best_rate = 0;
    for (const Diagnostic* diagnostic : left_) {
      const double rate = value_of(*diagnostic) / diagnostic->minutes;
      if (rate <= best_rate || !fits(*diagnostic)) continue;
      best = diagnostic;
      best_rate = rate;
    }
    return best;
  }

  void take(const Diagnostic* diagnostic, bool is_floor) {
    selection_.choices.push_back({diagnostic->check, diagnostic->minutes, value_of(*diagnostic), is_floor});
    selection_.minutes += diagnostic->minutes;
    for (std::size_t i = 0; i < residual_.size(); ++i)
      residual_[i] *= 1 - recall(*diagnostic, i);
    std::erase(left_, diagnostic);
  }

  const SelectionInput& input_;
  std::vector<const Diagnostic*> left_;  // by name
  std::vector<double> residual_;         // expected faults of each class that are not found yet
  Selection selection_;
};

}  // namespace

FullReason full_reason(const SinceFull& since) {
  if (since.is_repaired) return FullReason::repair;
  if (since.has_new_driver) return FullReason::driver_change;
  if (!since.age || *since.age > kMostAgeOfFull) return FullReason::no_recent_full;
  return FullReason::none;
}

std::string_view to_sentence(FullReason reason) {
  switch (reason) {
    case FullReason::none:
      return "";
    case FullReason::repair:
      return "after a repair";
    case FullReason::driver_change:
      return "after a change of the driver";
    case FullReason::no_recent_full:
      return "no full validation within 30 days";
  }
  return "";
}

Result<Selection> select_diagnostics(const SelectionInput& input, FullReason reason) {
  TRY_STATUS(validate(input));
  Selector selector(input);
  selector.add_floor(reason != FullReason::none);
  selector.add_worthwhile();
  return std::move(selector).result();
}

}  // namespace autopilot::learning
