// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "controller/planner/plan.hpp"

// For tests of the planner: a small cluster in which every action succeeds.
namespace autopilot::controller {

using namespace std::chrono_literals;

class Planner : public ::testing::Test {
 protected:
  static constexpr std::string_view kTest = "gpu.pcie_bandwidth";
  static constexpr std::string_view kDeepTest = "gpu.diagnosis";

  Planner() {
    world_.is_complete = true;
    policy_.rules.mode = Mode::act;
  }

  // Healthy nodes with eight GPUs: "n1", "n2", ... four in a rack.
  void add_nodes(int count) {
    for (int i = 1; i <= count; ++i) {
      Node node;
      node.name = "n" + std::to_string(i);
      node.uid = "uid-" + node.name;
      node.version = "1";
      node.pool = "default";
      node.domain = "rack-" + std::to_string((i - 1) / 4);
      node.gpus = 8;
      node.verdict = Verdict::pass;
      node.looked = now_;
      world_.put(node);
    }
  }
  template <class Change>
  void change(const std::string& name, Change what) {
    Node node = *world_.node(name);
    what(node);
    world_.put(node);
  }
  const Node& node(const std::string& name) { return *world_.node(name); }

  static Owner job(const std::string& name) {
    return {.api_version = "batch/v1", .kind = "Job", .name = name, .uid = "uid-" + name};
  }
  // A pod of that job with all GPUs of a node.
  Pod& add_pod(const std::string& name, const std::string& on, const std::string& of_job,
               bool is_gated = false) {
    Pod pod;
    pod.name_space = "team";
    pod.name = name;
    pod.uid = "uid-" + name;
    pod.node = on;
    pod.owner = job(of_job);
    pod.gpus = 8;
    pod.is_gated = is_gated;
    last_pod_ = pod;
    world_.put(pod);
    return last_pod_;
  }
  // The pre-flight test of a gated pod fails on its node.
  void fail_preflight(const std::string& pod, const std::string& on, const std::string& of_job) {
    put_report(add_pod(pod, on, of_job, true));
  }
  Report put_report(const Pod& pod, Outcome outcome = Outcome::failed) {
    Report report;
    report.name = pod.node + "-" + pod.name;
    report.node = pod.node;
    report.pod_namespace = pod.name_space;
    report.pod = pod.name;
    report.pod_uid = pod.uid;
    report.owner = pod.owner;
    report.outcome = outcome;
    if (outcome == Outcome::failed)
      report.failed = {{.test = std::string(kTest), .reason = "slow", .message = "12 GB/s, 50 expected"}};
    report.time = now_;
    world_.put(report);
    return report;
  }
  // The finding is old enough for an action.
  void turn_bad(const std::string& name, const std::string& cause = "nvlink_fatal",
                Action action = Action::reset_gpu) {
    change(name, [&](Node& node) {
      node.verdict = Verdict::evict;
      node.causes.push_back({.incident = name + "-" + cause,
                             .cause = cause,
                             .blamed = "gpu/0000:3b:00.0",
                             .action = action,
                             .since = now_ - Rules{}.breaker_settle});
    });
  }
  void turn_good(const std::string& name) {
    change(name, [](Node& node) {
      node.verdict = Verdict::pass;
      node.causes.clear();
    });
  }
  void pass(const std::string& name, std::string_view test) {
    change(name, [&](Node& node) { node.passed[std::string(test)] = now_; });
  }

  // Advances the time; every agent reports no change.
  void later(Duration time) {
    now_ += time;
    for (const auto& [name, node] : world_.nodes())
      if (node.looked) names_.push_back(name);
    for (const std::string& name : names_)
      world_.note_report(name, now_);
    names_.clear();
  }
  Plan look() {
    world_.as_of = now_;
    return plan(world_, policy_, now_);
  }
  // Makes a plan and executes it.
  Plan step() {
    Plan made = look();
    for (const Decision& decision : made.decisions)
      apply(world_, decision, now_);
    return made;
  }
  // Repeats until nothing changes.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      const Plan made = step();
      if (made.decisions.empty()) return;
    }
    ADD_FAILURE() << "the planner does not come to rest";
  }

  // "cordon n1" and so on, without events and marks; recorded actions in brackets.
  static std::vector<std::string> steps_of(const Plan& plan) {
    std::vector<std::string> steps;
    for (const Decision& decision : plan.decisions)
      for (const PlannedAction& action : decision.actions) {
        if (action.kind == ActionKind::event || action.kind == ActionKind::mark_report) continue;
        std::string text = std::string(to_string(action.kind)) + ' ' + action.target.name;
        if (action.kind == ActionKind::request) text += ' ' + std::string(to_string(action.request));
        steps.push_back(action.is_recorded_only ? '[' + text + ']' : text);
      }
    return steps;
  }
  // "NodeHeld Node/n1: ..."
  static std::vector<std::string> events_of(const Plan& plan) {
    std::vector<std::string> events;
    for (const Decision& decision : plan.decisions)
      for (const PlannedAction& action : decision.actions)
        if (action.kind == ActionKind::event)
          events.push_back(action.reason + ' ' + action.target.kind + '/' + action.target.name + ": " +
                           action.why);
    return events;
  }
  // The newest plan of the node.
  const LedgerEntry& entry_of(const std::string& node) {
    const LedgerEntry* newest = nullptr;
    for (const std::string& name : world_.plans_on(node)) {
      const LedgerEntry* entry = world_.entry(name);
      if (newest == nullptr || entry->created >= newest->created) newest = entry;
    }
    EXPECT_NE(newest, nullptr) << node;
    static const LedgerEntry none;
    return newest == nullptr ? none : *newest;
  }
  ReportPhase phase_of(const std::string& report) { return world_.report(report)->phase; }

  WallTime now_{std::chrono::hours{24 * 365 * 55}};
  World world_;
  Policy policy_;

 private:
  Pod last_pod_;
  std::vector<std::string> names_;
};

}  // namespace autopilot::controller
