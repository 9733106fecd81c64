// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "controller/reconcilers/remediation.hpp"
#include "tests/support/controller/fake_cluster.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller::testing {

// A clock that a test advances. Timers that wait for it are due immediately: it starts at the start of the
// machine.
class StoppedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    constexpr WallTime some_day{std::chrono::hours{24 * 365 * 55}};
    return {some_day + time, MonoTime{std::chrono::seconds{1}} + pauses};
  }
  Duration time{0};    // of the day
  Duration pauses{0};  // waits that have passed
};

// Three nodes with eight GPUs each, and a leader.
class RemediationFixture : public ::testing::Test {
 protected:
  static inline const std::string kReports = FakeCluster::kOurs + "healthcheckreports/";
  static inline const std::string kPod = "/api/v1/namespaces/ml/pods/train-0";

  RemediationFixture() {
    policy_.rules.mode = Mode::hold;
    for (const char* name : {"n1", "n2", "n3"})
      add_node(name);
  }

  static std::string node_path(const std::string& name) { return FakeCluster::kNodes + '/' + name; }
  [[nodiscard]] std::string now_text() const { return format_time(clock_.now().wall); }

  void add_node(const std::string& name) {
    cluster_.put(
        node_path(name),
        {{"metadata", boost::json::object{{"annotations", boost::json::object{{"foreign/note", "stays"}}}}},
         {"spec", boost::json::object{{"taints", boost::json::array{boost::json::object{
                                                     {"key", "foreign"}, {"effect", "NoSchedule"}}}}}},
         {"status", boost::json::object{{"capacity", boost::json::object{{"nvidia.com/gpu", "8"}}},
                                        {"conditions", boost::json::array{boost::json::object{
                                                           {"type", "Ready"}, {"status", "True"}}}}}}});
    report_health(name, "PASS");
  }
  void report_health(const std::string& name, const std::string& verdict, boost::json::array passes = {}) {
    const boost::json::object status{
        {"observedAt", now_text()},
        {"health", "healthy"},
        {"written", boost::json::object{{"verdict", verdict}}},
        {"gpus", boost::json::array{boost::json::object{{"uuid", "GPU-1"}, {"health", "healthy"}}}},
        {"passRecords", std::move(passes)}};
    cluster_.put(FakeCluster::kOurs + "nodehealthreports/" + name, {{"status", status}});
  }
  // A pod of a job, at its gate.
  void add_pod(const std::string& path, const std::string& node) {
    const boost::json::object owner{{"apiVersion", "batch/v1"},
                                    {"kind", "Job"},
                                    {"name", "train"},
                                    {"uid", "job-1"},
                                    {"controller", true}};
    const boost::json::object limits{{"limits", boost::json::object{{"nvidia.com/gpu", "8"}}}};
    cluster_.put(path,
                 {{"metadata", boost::json::object{{"labels", boost::json::object{{"autopilot", ""}}},
                                                   {"ownerReferences", boost::json::array{owner}}}},
                  {"spec",
                   boost::json::object{
                       {"nodeName", node},
                       {"tolerations",
                        boost::json::array{boost::json::object{{"key", "foreign"}, {"operator", "Exists"}}}},
                       {"initContainers", boost::json::array{boost::json::object{{"name", kGateContainer}}}},
                       {"containers",
                        boost::json::array{boost::json::object{{"name", "main"}, {"resources", limits}}}}}},
                  {"status", boost::json::object{{"phase", "Pending"}}}});
  }
  // A report of the gated pod on that node: the bandwidth of a GPU is too low.
  void report_failure(const std::string& name, const std::string& node) {
    const boost::json::object finding{{"check", "gpu.pcie_bandwidth"},
                                      {"health", "failed"},
                                      {"reason", "slow"},
                                      {"message", "12 GB/s, 50 expected"}};
    const boost::json::object* pod = cluster_.find(kPod);
    cluster_.put(
        kReports + name,
        {{"spec", boost::json::object{
                      {"node", node},
                      {"pod", boost::json::object{{"namespace", "ml"},
                                                  {"name", "train-0"},
                                                  {"uid", FakeCluster::text(*pod, {"metadata", "uid"})}}},
                      {"job",
                       boost::json::object{
                           {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "train"}, {"uid", "job-1"}}},
                      {"outcome", "failed"},
                      {"findings", boost::json::array{finding}},
                      {"time", now_text()}}}});
  }

  // The pod has passed its gate.
  void let_through(const std::string& path) {
    boost::json::object pod = *cluster_.find(path);
    const boost::json::object ended{
        {"name", kGateContainer},
        {"state", boost::json::object{{"terminated", boost::json::object{{"exitCode", 0}}}}}};
    pod["status"] =
        boost::json::object{{"phase", "Running"}, {"initContainerStatuses", boost::json::array{ended}}};
    cluster_.put(path, pod);
  }
  void report_incident(const std::string& node) {
    const boost::json::object incident{
        {"id", "i-1"},
        {"state", "open"},
        {"check", "gpu.xid"},
        {"reason", "xid_95"},
        {"blamed", boost::json::object{{"kind", "gpu"}, {"key", "0000:3b:00.0"}}},
        {"health", "failed"},
        {"action", "reset_gpu"},
        {"opened", format_time(clock_.now().wall - Rules{}.breaker_settle)}};
    const boost::json::object holds{{"incident", "i-1"}, {"acknowledged", false}};
    cluster_.put(
        FakeCluster::kOurs + "nodehealthreports/" + node,
        {{"status",
          boost::json::object{
              {"observedAt", now_text()},
              {"written", boost::json::object{{"verdict", "EVICT"}, {"evicting", boost::json::array{holds}}}},
              {"incidents", boost::json::array{incident}}}}});
  }

  void lead() {
    client_ = std::make_unique<kube::Client>(
        loop_, cluster_.url(),
        kube::ClientOptions{
            .user_agent = "test", .field_manager = "test", .deadline = std::chrono::seconds{20}});
    remediation_ = std::make_unique<Remediation>(
        loop_, *client_, clock_, RemediationOptions{.name_space = "autopilot", .view = {}, .host = "c-1"},
        policy_, [this] { return is_leader_; }, [] { return 0.5; });
    remediation_->start();
  }
  void die() {
    remediation_.reset();
    client_.reset();
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  // Runs until that many plans had no write.
  void settle() {
    std::size_t writes = cluster_.writes().size();
    std::uint64_t since = remediation_->figures().plans_made;
    EXPECT_TRUE(run_until([&] {
      const std::uint64_t made = remediation_->figures().plans_made;
      if (cluster_.writes().size() != std::exchange(writes, cluster_.writes().size())) since = made;
      return made > since + 20 && !remediation_->is_busy();
    })) << "it does not come to rest";
  }

  [[nodiscard]] bool is_cordoned(const std::string& node) const {
    const auto* object = cluster_.find(node_path(node));
    return object != nullptr && FakeCluster::flag(*object, {"spec", "unschedulable"});
  }
  [[nodiscard]] std::string note_on(const std::string& node, std::string_view name) const {
    return FakeCluster::text(*cluster_.find(node_path(node)),
                             {"metadata", "annotations", "autopilot.ibm.com/" + std::string(name)});
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> found;
    for (const char* space : {"default", "ml", "autopilot"})
      for (const auto* event : cluster_.all("/api/v1/namespaces/" + std::string(space) + "/events"))
        found.push_back(FakeCluster::text(*event, {"reason"}) + ' ' +
                        FakeCluster::text(*event, {"involvedObject", "kind"}) + '/' +
                        FakeCluster::text(*event, {"involvedObject", "name"}));
    return found;
  }
  [[nodiscard]] std::vector<std::string> phases() const {
    std::vector<std::string> found;
    for (const auto* plan : cluster_.all(FakeCluster::kOurs + "remediationplans"))
      found.push_back(FakeCluster::text(*plan, {"status", "phase"}));
    return found;
  }
  [[nodiscard]] std::string phase_of_report(const std::string& name) const {
    return FakeCluster::text(*cluster_.find(kReports + name), {"status", "phase"});
  }

  StoppedClock clock_;
  net::EventLoop loop_;
  FakeCluster cluster_{loop_};
  Policy policy_;
  bool is_leader_ = true;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Remediation> remediation_;
};

}  // namespace autopilot::controller::testing
