// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/controller/simulated_cluster.hpp"

// Nodes of the simulated cluster: their faults, tests and repairs, operators who change them, and the writes
// of the controller.
namespace autopilot::controller::simulation {

inline Cluster::Cluster(std::uint64_t seed, const Trouble& trouble) : random_(seed), trouble_(trouble) {
  for (std::size_t i = 0; i < kNodes; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.uid = "uid-" + node.name;
    node.version = "0";
    node.pool = i < kNodes * 6 / 10 ? "act" : i < kNodes * 9 / 10 ? "hold" : "observe";
    node.domain = "rack-" + std::to_string(i / kRack);
    node.gpus = 8;
    node.is_exempt = i % 97 == 0;
    node.verdict = Verdict::pass;
    node.looked = time();
    machines_.push_back({.name = node.name});
    real_.put(node);
    seen_.put(node);
  }
  push_daily(trouble_.passive_faults, Kind::passive_fault);
  push_daily(trouble_.latent_faults, Kind::latent_fault);
  push_daily(trouble_.bursts, Kind::burst);
  push_daily(trouble_.silent_agents, Kind::silence);
  push_daily(trouble_.blind_checks, Kind::blind);
  push_daily(trouble_.foreign_cordons, Kind::cordon_by_hand);
  push_daily(trouble_.meddling, Kind::meddle);
  push_daily(10, Kind::ask_test);
  push_daily(4, Kind::call_lemons);
  for (std::uint64_t job = 1; job <= kNodes / 9; ++job)
    push(between(0, kHour), Kind::start_job, job);
}

inline void Cluster::happen(const Event& event) {
  switch (event.kind) {
    case Kind::wake:
      has_news_ |= event.at == wake_;
      return;
    case Kind::show_node:
      return show_node(machines_[event.about].name);
    case Kind::show_pod:
      return show_pod(pod_uid(event.about));
    case Kind::show_report:
      return show_report(report_name(event.about));
    case Kind::start_job:
    case Kind::place_pod:
    case Kind::gate:
    case Kind::end_job:
    case Kind::pod_gone:
      return happen_to_jobs(event);
    default:
      return happen_to_nodes(event);
  }
}

inline void Cluster::happen_to_nodes(const Event& event) {
  const std::size_t number = event.about;
  const auto again = [&](double per_day) { push_daily(is_calm_ ? 0 : per_day, event.kind); };
  switch (event.kind) {
    case Kind::passive_fault:
    case Kind::latent_fault: {
      const bool is_passive = event.kind == Kind::passive_fault;
      again(is_passive ? trouble_.passive_faults : trouble_.latent_faults);
      return turn_bad(any_machine(), below(20), is_passive ? Fault::passive : Fault::latent,
                      is_passive ? 2 * kDay : 4 * kDay);
    }
    case Kind::burst:
      again(trouble_.bursts);
      return turn_many_bad();
    case Kind::turn_bad:
      return turn_bad(number, static_cast<int>(event.further), Fault::passive, 4 * kHour);
    case Kind::repair:
      return repair(number, static_cast<std::uint32_t>(event.further));
    case Kind::silence:
      again(trouble_.silent_agents);
      return fall_silent(any_machine());
    case Kind::speak:
      machines_[number].silent_since = -1;
      return change(number, [&](Node& node) { node.looked = time(); });
    case Kind::blind:
      again(trouble_.blind_checks);
      return go_blind(any_machine());
    case Kind::sicken:
      return below(2) == 0 ? fall_silent(number) : go_blind(number);
    case Kind::see:
      return change(number, [](Node& node) { node.is_unknown = false; });
    case Kind::cordon_by_hand: {
      again(trouble_.foreign_cordons);
      const std::size_t cordoned = any_machine();
      if (is_calm_ || real_.node(machines_[cordoned].name)->is_unschedulable) return;
      machines_[cordoned].is_foreign = true;
      change(cordoned, [](Node& node) { node.is_unschedulable = true; });
      return push(now_ + between(kHour, kDay), Kind::uncordon_by_hand, cordoned);
    }
    case Kind::uncordon_by_hand:
      machines_[number].is_foreign = false;
      return change(number, [](Node& node) { node.is_unschedulable = false; });
    case Kind::meddle:
      again(trouble_.meddling);
      return is_calm_ ? void() : meddle();
    case Kind::visit:
      return visit(number);
    case Kind::end_test:
      return end_test(number);
    case Kind::ask_test:
      again(10);
      return want_test(any_machine());
    case Kind::call_lemons:
      again(4);
      return is_calm_ ? void() : call_lemons();
    case Kind::want_test:
      return want_test(number);
    case Kind::forget_report: {
      const std::string name = report_name(event.about);
      real_.remove_report(name);
      late_reports_.insert(name);
      return show_report(name);
    }
    default:
      return;
  }
}

inline void Cluster::turn_bad(std::size_t number, int cause, Fault fault, Seconds longest) {
  Machine& machine = machines_[number];
  if (is_calm_ || machine.fault != Fault::none) return;
  machine.fault = fault;
  ++machine.fault_number;
  const bool is_passive = fault == Fault::passive;
  push(now_ + between(kHour, longest), Kind::repair, number, machine.fault_number);
  if (!is_passive) return;
  machine.bad_shown = now_;
  // A fault of a GPU often affects others.
  if (below(4) == 0) push(now_ + between(0, 10 * kMinute), Kind::sicken, number);
  static constexpr std::array actions = {Action::reset_gpu, Action::reboot_node, Action::replace,
                                         Action::none};
  change(number, [&](Node& node) {
    node.causes.push_back({.incident = "i" + std::to_string(++incidents_),
                           .cause = "cause-" + std::to_string(cause),
                           .blamed = "gpu/0000:3b:00.0",
                           .action = actions[static_cast<std::size_t>(cause) % actions.size()],
                           .since = time()});
    if (node.verdict != Verdict::testing) node.verdict = Verdict::evict;
  });
}

inline void Cluster::fall_silent(std::size_t number) {
  if (is_calm_ || machines_[number].silent_since >= 0) return;
  machines_[number].silent_since = now_;
  change(number, [&](Node& node) { node.looked = time(); });
  push(now_ + between(5 * kMinute, 12 * kHour), Kind::speak, number);
}

inline void Cluster::go_blind(std::size_t number) {
  if (is_calm_ || real_.node(machines_[number].name)->is_unknown) return;
  change(number, [](Node& node) { node.is_unknown = true; });
  push(now_ + between(kMinute, 4 * kHour), Kind::see, number);
}

// A fault of a driver, firmware or network affects a part of a pool within minutes.
inline void Cluster::turn_many_bad() {
  if (is_calm_) return;
  const std::size_t first = any_machine();
  const auto count = static_cast<std::size_t>(between(20, 200));
  const auto cause = 100 + static_cast<std::uint64_t>(below(3));
  for (std::size_t i = 0; i < count; ++i)
    push(now_ + between(0, 25 * kMinute), Kind::turn_bad, (first + i) % kNodes, cause);
}

inline void Cluster::repair(std::size_t number, std::uint32_t fault) {
  Machine& machine = machines_[number];
  if (machine.fault == Fault::none || machine.fault_number != fault) return;
  machine.fault = Fault::none;
  change(number, [](Node& node) {
    std::erase_if(node.causes, [](const OpenCause& cause) { return cause.is_passive; });
  });
  push(now_ + between(kHour, 6 * kHour), Kind::visit, number);
  // Most recurring faults recur soon.
  if (below(4) == 0) push(now_ + between(kHour, 3 * kDay), Kind::turn_bad, number, 50);
}

// Repaired by a technician if the planner orders no tests; otherwise by the agent, whose verdict waits for a
// test.
inline void Cluster::visit(std::size_t number) {
  const Node& node = *real_.node(machines_[number].name);
  const bool is_evict = node.verdict == Verdict::evict && node.causes.empty();
  const bool has_old_test =
      std::ranges::any_of(node.causes, [](const OpenCause& cause) { return !cause.is_passive; });
  if (!node.held && !is_evict && !has_old_test) return;
  push(now_ + between(4 * kHour, 12 * kHour), Kind::visit, number);
  if (node.pool == "act") return node.held || machines_[number].free_gpus < 8 ? void() : want_test(number);
  if (machines_[number].fault != Fault::none || machines_[number].silent_since >= 0) return;
  machines_[number].proven = now_;
  change(number, [&](Node& tested) {
    tested.passed[std::string(kTest)] = tested.passed[std::string(kDeepTest)] = time();
    tested.causes.clear();
    tested.verdict = Verdict::pass;
  });
}

// More than the budget allows, some of them for a fault that is too old, and each for some days.
inline void Cluster::call_lemons() {
  constexpr std::size_t most = 40;
  if (lemons_.size() >= most) lemons_.erase(lemons_.begin());
  const std::string& name = machines_[any_machine()].name;
  // The last fault of a node never becomes an earlier one.
  const auto last = last_faults_.try_emplace(name).first;
  last->second = std::max(last->second, time_of(now_ - between(0, 20 * kDay)));
  lemons_.push_back({.node = name, .last_fault = last->second, .why = name + " is a lemon"});
  use_lemons();
  has_news_ = true;
}

inline void Cluster::want_test(std::size_t number) {
  const Node& node = *real_.node(machines_[number].name);
  if (node.wants_test || node.granted_test || node.verdict == Verdict::testing) return;
  change(number, [&](Node& asking) { asking.wants_test = time(); });
}

inline void Cluster::grant_test(const std::string& name) {
  const std::size_t number = number_of(name);
  change(number, [&](Node& node) {
    node.wants_test.reset();
    node.granted_test = time();
  });
  // The controller knows its own permissions.
  show_node(name);
  begin_test(number);
}

inline void Cluster::begin_test(std::size_t number) {
  const Machine& machine = machines_[number];
  const Node& node = *real_.node(machine.name);
  const bool may_test =
      machine.silent_since < 0 && node.verdict != Verdict::testing && machine.free_gpus == 8;
  if (!may_test && !node.granted_test) return;
  change(number, [&](Node& tested) {
    tested.granted_test.reset();
    if (may_test) tested.verdict = Verdict::testing;
  });
  if (may_test) push(now_ + between(10 * kMinute, 40 * kMinute), Kind::end_test, number);
}

inline void Cluster::end_test(std::size_t number) {
  Machine& machine = machines_[number];
  const bool is_good = machine.fault == Fault::none;
  (is_good ? machine.proven : machine.bad_shown) = now_;
  if (below(5) == 0) go_blind(number);
  change(number, [&](Node& node) {
    std::erase_if(node.causes, [](const OpenCause& cause) { return !cause.is_passive; });
    if (is_good) {
      node.passed[std::string(kTest)] = node.passed[std::string(kDeepTest)] = time();
    } else {
      node.causes.push_back({.incident = "i" + std::to_string(++incidents_),
                             .cause = "deep_test_failed",
                             .blamed = "gpu/0000:3b:00.0",
                             .action = Action::replace,
                             .since = time(),
                             .is_passive = false});
    }
    node.verdict = node.causes.empty() ? Verdict::pass : Verdict::evict;
  });
  if (!is_good) push(now_ + between(2 * kHour, 6 * kHour), Kind::visit, number);
}

// An operator removes our marks.
inline void Cluster::meddle() {
  std::vector<std::size_t> ours;
  for (const std::string& name : real_.of_concern())
    if (const Node& node = *real_.node(name); node.held || node.probation) ours.push_back(number_of(name));
  if (ours.empty()) return;
  const std::size_t number = ours[static_cast<std::size_t>(below(static_cast<int>(ours.size())))];
  const bool takes_annotation = below(2) == 0;
  if (real_.node(machines_[number].name)->held && takes_annotation) {
    machines_[number].is_foreign = true;
    push(now_ + between(kHour, kDay), Kind::uncordon_by_hand, number);
  }
  meddled_.push_back(machines_[number].name);
  change(number, [&](Node& node) {
    if (!node.held) {
      node.probation.reset();
    } else if (takes_annotation) {
      node.held.reset();
    } else {
      node.is_unschedulable = false;
    }
  });
}

inline const World& Cluster::look() {
  for (const std::string& name : seen_.of_concern())
    if (machine(name).silent_since < 0) seen_.note_report(name, time() - std::chrono::seconds(below(300)));
  seen_.is_complete = true;
  seen_.as_of = time();
  return seen_;
}

inline void Cluster::show_node(const std::string& name) {
  if (late_nodes_.erase(name) == 0) return;
  has_news_ |= seen_.put(*real_.node(name));
}

inline void Cluster::catch_up() {
  while (!late_nodes_.empty())
    show_node(std::string(*late_nodes_.begin()));
  while (!late_pods_.empty())
    show_pod(std::string(*late_pods_.begin()));
  while (!late_reports_.empty())
    show_report(std::string(*late_reports_.begin()));
  for (const std::string& name : late_entries_)
    has_news_ |= seen_.put(*real_.entry(name));
  late_entries_.clear();
}

inline void Cluster::write(const LedgerEntry& entry, bool answers) {
  real_.put(entry);
  if (answers)
    has_news_ |= seen_.put(entry);
  else
    late_entries_.insert(entry.name);
}

inline bool Cluster::write(const PlannedAction& action, const std::string& version, bool answers) {
  switch (action.kind) {
    case ActionKind::event:
      return true;
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      return write_pod(action, answers);
    case ActionKind::mark_report:
      if (real_.report(action.target.name) == nullptr) return false;
      apply(real_, action, time());
      late_reports_.insert(action.target.name);
      if (answers) show_report(action.target.name);
      return true;
    case ActionKind::deep_test:
      begin_test(number_of(action.target.name));
      return true;
    case ActionKind::request: {
      const Machine& asked = machine(action.target.name);
      push(now_ + between(kHour, 6 * kHour), Kind::repair, number_of(action.target.name), asked.fault_number);
      return true;
    }
    default:
      return write_node(action, version, answers);
  }
}

inline bool Cluster::write_node(const PlannedAction& action, const std::string& version, bool answers) {
  const std::string& name = action.target.name;
  if (real_.node(name)->version != version) return false;
  apply(real_, action, time());
  const std::size_t number = number_of(name);
  change(number, [](Node&) {});
  if (action.kind == ActionKind::cordon) push(now_ + between(2 * kHour, 6 * kHour), Kind::visit, number);
  if (answers) show_node(name);
  return true;
}

}  // namespace autopilot::controller::simulation
