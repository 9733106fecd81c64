// SPDX-License-Identifier: Apache-2.0
#include "learning_selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "learning/selector/selector.hpp"
#include "learning_draw.hpp"

namespace autopilot::learning::bench {
namespace {

constexpr std::size_t kNodes = 400;
constexpr int kDays = 360;
constexpr double kGpus = 8;
constexpr double kMinutesOfHour = 60;
constexpr double kHoursOfFalsePositive = 8;  // GPU-hours

// Assumptions: recalls and false positives are not published for single diagnostics.
const std::vector<Diagnostic> kDiagnostics{{"quick", 2, 0.0002, true},
                                           {"gpu deep", 15, 0.001, false},
                                           {"NVLink all-reduce", 5, 0.0005, false},
                                           {"network pairs", 8, 0.001, false}};
const std::vector<Recall> kRecall{{"quick", "gpu", 0.15, 0, 0},
                                  {"quick", "network", 0.1, 0, 0},
                                  {"gpu deep", "gpu", 0.6, 0, 0},
                                  {"gpu deep", "slow", 0.5, 0, 0},
                                  {"NVLink all-reduce", "gpu", 0.2, 0, 0},
                                  {"NVLink all-reduce", "slow", 0.3, 0, 0},
                                  {"network pairs", "network", 0.6, 0, 0}};

// Loss for each GPU of the job: an hour of a fatal fault (half of an interval of an hour between checkpoints,
// detection and restart), 10 % of 12 hours of a degradation.
struct FaultShare {
  std::string_view fault_class;
  double share = 0;
  double hours = 0;
};
constexpr std::array<FaultShare, 3> kFaults{{{"gpu", 0.55, 1}, {"network", 0.25, 1}, {"slow", 0.2, 1.2}}};

constexpr int kLongAgo = -100;

struct SimulatedNode {
  int in_service = 0;  // from this day on
  int returned = kLongAgo;
  std::vector<int> faults;  // days
};

double hazard_of(const SimulatedNode& node, int day) {
  constexpr double kBase = 0.002;  // with the rest, 4 faults for each 1000 node-days, as in the field
  constexpr double kExcess = 40;
  constexpr double kDecayDays = 3;
  constexpr int kWindow = 90;
  const auto recent = std::ranges::count_if(node.faults, [&](int fault) { return fault > day - kWindow; });
  const double repeats = 1 + 0.5 * static_cast<double>(std::min<std::ptrdiff_t>(recent, 4));
  return kBase * (1 + kExcess * std::exp(-(day - node.returned) / kDecayDays)) * repeats;
}

// A day of one node in a job.
struct NodeDay {
  std::size_t node = 0;
  int day = 0;
  double hazard = 0;
  double gpus_of_job = 0;
  bool is_returned = false;  // since its last day
  const FaultShare* fault = nullptr;
  std::array<double, 4> luck{};  // of each diagnostic
};

std::vector<std::size_t> in_service(const std::vector<SimulatedNode>& nodes, int day, Draw& draw) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].in_service <= day) result.push_back(i);
  for (std::size_t i = result.size(); i > 1; --i)
    std::swap(result[i - 1], result[draw.below(i)]);
  return result;
}

const FaultShare* draw_fault(double hazard, Draw& draw) {
  if (!draw.chance(1 - std::exp(-hazard))) return nullptr;
  double place = draw.uniform();
  for (const FaultShare& fault : kFaults)
    if ((place -= fault.share) < 0) return &fault;
  return &kFaults.back();
}

NodeDay draw_day(SimulatedNode& node, int day, Draw& draw) {
  NodeDay one{.day = day, .hazard = hazard_of(node, day), .is_returned = node.returned == day};
  one.fault = draw_fault(one.hazard, draw);
  for (double& luck : one.luck)
    luck = draw.uniform();
  if (one.fault == nullptr) return one;
  node.faults.push_back(day);
  node.in_service = day + 1 + static_cast<int>(draw.below(10));
  node.returned = node.in_service;
  return one;
}

std::vector<NodeDay> draw_days(std::uint64_t seed) {
  constexpr std::array<std::size_t, 7> kSizes{1, 2, 4, 8, 16, 32, 64};
  Draw draw(seed);
  std::vector<SimulatedNode> nodes(kNodes);
  std::vector<NodeDay> days;
  for (int day = 0; day < kDays; ++day) {
    std::size_t left = 0;
    double gpus = 0;
    const auto ready = in_service(nodes, day, draw);
    for (std::size_t i = 0; i < ready.size(); ++i, --left) {
      if (left == 0) {
        left = std::min(kSizes.at(draw.below(kSizes.size())), ready.size() - i);
        gpus = kGpus * static_cast<double>(left);
      }
      NodeDay one = draw_day(nodes[ready[i]], day, draw);
      one.node = ready[i];
      one.gpus_of_job = gpus;
      days.push_back(one);
    }
  }
  return days;
}

std::size_t position_of(const std::string& check) {
  return static_cast<std::size_t>(std::ranges::find(kDiagnostics, check, &Diagnostic::check) -
                                  kDiagnostics.begin());
}

class Policy {
 public:
  enum class Kind : std::uint8_t { never, always, weekly, selector };

  Policy(std::string name, Kind kind, double weight) : kind_(kind), weight_(weight) {
    cost_.policy = std::move(name);
  }

  void start_fleet() { last_full_.assign(kNodes, kLongAgo); }

  void run(const NodeDay& one) {
    const std::vector<std::size_t> chosen = choose(one);
    if (chosen.size() == kDiagnostics.size()) last_full_[one.node] = one.day;
    bool is_found = false;
    for (const std::size_t i : chosen) {
      const Diagnostic& diagnostic = kDiagnostics[i];
      cost_.diagnostics += diagnostic.minutes / kMinutesOfHour * kGpus;
      if (one.fault == nullptr && one.luck.at(i) < diagnostic.false_positives)
        cost_.false_positives += kHoursOfFalsePositive;
      if (one.fault != nullptr &&
          one.luck.at(i) < recall_of(kRecall, diagnostic.check, one.fault->fault_class))
        is_found = true;
    }
    if (one.fault == nullptr) return;
    ++cost_.faults;
    if (is_found) return;
    ++cost_.escaped;
    cost_.losses += one.fault->hours * one.gpus_of_job;
  }

  [[nodiscard]] const PolicyCost& cost() const { return cost_; }

 private:
  [[nodiscard]] std::vector<std::size_t> choose(const NodeDay& one) const {
    constexpr int kWeek = 7;
    const int age = one.day - last_full_[one.node];
    if (kind_ == Kind::never || (kind_ == Kind::weekly && age < kWeek)) return {};
    if (kind_ != Kind::selector) return {0, 1, 2, 3};
    SelectionInput input{.hazards = {one.hazard},
                         .diagnostics = kDiagnostics,
                         .recall = kRecall,
                         .gpus_of_node = kGpus,
                         .false_positive_gpu_hours = kHoursOfFalsePositive};
    for (const FaultShare& fault : kFaults)
      input.risks.push_back(
          {std::string(fault.fault_class), fault.share, weight_ * fault.hours * one.gpus_of_job});
    const FullReason reason = full_reason({.age = std::chrono::days(age), .is_repaired = one.is_returned});
    std::vector<std::size_t> chosen;
    const Selection selection = select_diagnostics(input, reason).value();
    for (const Choice& choice : selection.choices)
      chosen.push_back(position_of(choice.check));
    return chosen;
  }

  Kind kind_;
  double weight_;
  PolicyCost cost_;
  std::vector<int> last_full_;
};

}  // namespace

std::vector<PolicyCost> run_selection(const Seeds& seeds) {
  std::vector<Policy> policies{{"never", Policy::Kind::never, 1},
                               {"always full", Policy::Kind::always, 1},
                               {"weekly full", Policy::Kind::weekly, 1},
                               {"selector", Policy::Kind::selector, 1},
                               {"selector x0.25", Policy::Kind::selector, 0.25},
                               {"selector x0.5", Policy::Kind::selector, 0.5},
                               {"selector x2", Policy::Kind::selector, 2},
                               {"selector x4", Policy::Kind::selector, 4},
                               {"selector x16", Policy::Kind::selector, 16},
                               {"selector x64", Policy::Kind::selector, 64}};
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const std::vector<NodeDay> days = draw_days(seed);
    for (Policy& policy : policies) {
      policy.start_fleet();
      for (const NodeDay& one : days)
        policy.run(one);
    }
  }
  std::vector<PolicyCost> costs;
  for (const Policy& policy : policies)
    costs.push_back(policy.cost());
  return costs;
}

}  // namespace autopilot::learning::bench
