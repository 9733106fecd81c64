// SPDX-License-Identifier: Apache-2.0
// Prints one sample of every object of the API: a line with the name of its schema, a line with the object.
#include <cstdio>
#include <string>
#include <vector>

#include "api/bandwidth.hpp"
#include "api/job_batch.hpp"
#include "api/job_evidence.hpp"
#include "api/jobs_v1.hpp"
#include "api/network.hpp"
#include "api/v1.hpp"
#include "api/validations.hpp"
#include "net/http.hpp"
#include "tests/support/api/job_samples.hpp"
#include "tests/support/api/test_samples.hpp"
#include "tests/support/api/validation_samples.hpp"

int main() {
  using namespace autopilot;
  using namespace autopilot::api;
  using namespace autopilot::api::testing;
  const std::string nccl_id(kNcclIdLength, 'a');
  const std::vector<std::pair<std::string, std::string>> samples = {
      {"Node", to_json(sample_node())},
      {"Node", to_json(sample_empty_node())},
      {"Node", to_json(sample_node(), View{.observations = false})},
      {"Job", to_json(sample_job(), true)},
      {"JobList", to_json(JobList{.time = kJobTime,
                                  .node = "gpu-001",
                                  .jobs = {sample_job()},
                                  .sources = {"processes", "telemetry"},
                                  .not_seen = {"logs: not readable; run the agent as root"}})},
      {"JobList", to_json(JobList{})},
      {"JobBatchAnswer",
       to_json(JobBatchAnswer{.taken = 7, .wants_whole = true, .suspected = {{"ml/train", "4f2a"}}})},
      {"JobEvidenceList",
       to_json(EvidenceList{
           "/var/lib/autopilot/jobs/evidence",
           {{.id = "00c0ffee00c0ffee",
             .job = "ml/a",
             .time = WallTime(std::chrono::seconds(1767225600)),
             .items =
                 {{.name = "ras", .file = "ras-rank0.txt", .bytes = 7, .took_s = 0.5, .problem = {}},
                  {.name = "counters", .file = {}, .bytes = 0, .took_s = 0, .problem = "no window"}}}}})},
      {"ValidationList", to_json(sample_validations())},
      {"ValidationList", to_json(ValidationList{.node = "n0", .validations = {}})},
      {"JobFeedbackRequest", to_json(JobFeedbackRequest{"00c0ffee00c0ffee", jobs::Verdict::confirmed, "x"})},
      {"JobAckRequest", to_json(JobAckRequest{"00c0ffee00c0ffee"})},
      {"JobMuteRequest", to_json(JobMuteRequest{"ml/llama", std::chrono::hours(1)})},
      {"NodeNetwork", to_json(NodeNetwork{"node-a",
                                          "autopilot-x1",
                                          {{"eth0", "10.1.0.7", 1500, 100'000'000'000}, {"ib0", "fd00::7"}},
                                          "leaf-7"})},
      {"NodeNetwork", to_json(NodeNetwork{"node-a", "", {}})},
      {"NodeNetwork",
       to_json(NodeNetwork{
           "node-a", "", {}, "", {{"mlx5_0/1", 200'000'000'000, "ib0", "0000:1b:00.0"}, {"mlx5_1/1"}}, 8})},
      {"NodeNetwork", to_json(NodeNetwork{"node-a", "", {}, "", {}, 8, GpuVendor::amd})},
      {"BandwidthPlan", to_json(BandwidthPlan{{{"ib0", {"node-a", "node-b"}}},
                                              {{"ib0", "node-a", "node-b"}},
                                              10,
                                              1,
                                              40,
                                              {{"node-c", "does not answer"}},
                                              true})},
      {"BandwidthPlan", to_json(BandwidthPlan{})},
      {"ServersRequest", to_json(ServersRequest{"10.2.0.7", "10.2.0.9", 2, 30})},
      {"ServersRequest", to_json(ServersRequest{"10.2.0.7", "10.2.0.9", 1, 30, "mlx5_0/1", 3})},
      {"ServersRequest", to_json(ServersRequest{"10.2.0.7", "10.2.0.9", 1, 30, "", 3, 8})},
      {"ServersRequest", to_json(ServersRequest{"10.2.0.7", "10.2.0.9", 1, 30, "", 3, 8, 24})},
      {"ServersRequest", to_json(ServersRequest{.address = "10.2.0.7",
                                                .allowed = "10.2.0.9",
                                                .seconds = 30,
                                                .rdma_port = "mlx5_0/1",
                                                .test_seconds = 3,
                                                .memory = Memory::gpu})},
      {"ServersAnswer", to_json(ServersAnswer{"node-a-1", {41000, 41001}})},
      {"ServersAnswer", to_json(ServersAnswer{"node-a-1", {}, nccl_id})},
      {"BandwidthRequest",
       to_json(BandwidthRequest{"10.2.0.9", "node-b", "10.2.0.7", {41000}, 4, 3, 400'000'000})},
      {"BandwidthRequest", to_json(BandwidthRequest{"10.2.0.9", "node-b", "10.2.0.7", {41000}, 1, 1})},
      {"BandwidthRequest",
       to_json(BandwidthRequest{"10.2.0.9", "node-b", "10.2.0.7", {1, 2, 3}, 1, 1, 0, "mlx5_0/1"})},
      {"BandwidthRequest",
       to_json(BandwidthRequest{"10.2.0.9", "node-b", "10.2.0.7", {}, 1, 1, 0, "", 8, 0, 0, nccl_id})},
      {"BandwidthRequest",
       to_json(BandwidthRequest{"10.2.0.9", "node-b", "10.2.0.7", {}, 1, 1, 0, "", 8, 24, 16, nccl_id})},
      {"BandwidthRequest",
       to_json(BandwidthRequest{.address = "10.2.0.9",
                                .node = "node-b",
                                .to = "10.2.0.7",
                                .ports = {1, 2, 3},
                                .seconds = 1,
                                .rdma_port = "mlx5_0/1",
                                .memory = Memory::gpu})},
      {"BandwidthAnswer",
       to_json(BandwidthAnswer{BandwidthWay{}, BandwidthWay{}, "", "", BandwidthLatency{1.27, 1.5, 5.25}})},
      {"BandwidthAnswer",
       to_json(BandwidthAnswer{BandwidthWay{1e9, 0.99e9, {0.99e9}}, BandwidthWay{}, "", ""})},
      {"BandwidthAnswer", to_json(BandwidthAnswer{{}, {}, "refused", "nobody listens there"})},
      {"BandwidthAnswer", to_json(BandwidthAnswer{{}, {}, "wrong_result", "gpu 1", {}, kWrongHere})},
      {"ServersEnd", to_json(ServersEnd{})},
      {"ServersEnd", to_json(ServersEnd{"wrong_result", "gpu 1", kWrongHere})},
      {"ServersEnd", to_json(ServersEnd{"no_memory", "gpu 1", ""})},
      {"CheckResult", to_json(sample_result())},
      {"CheckList", to_json(std::vector{sample_check(), CheckSummary{}})},
      {"Incident", to_json(sample_incident(), true)},
      {"IncidentList", to_json(std::vector{sample_incident(), Incident{}})},
      {"Operation", to_json(sample_operation(), false)},
      {"OperationList", to_json(std::vector{sample_operation(), Operation{}})},
      {"TestList", to_json(std::vector{sample_test(), TestInfo{}})},
      {"Event", to_json(sample_event())},
      {"EventList", to_json(std::vector{sample_event(), Event{}})},
      {"Error", to_json(Error{Errc::not_found, "there is no such check"})},
      {"Error", net::error_response(Error{Errc::denied, "not \"here\""}).body},
      {"OperationRequest", to_json(sample_operation_request())},
      {"OperationRequest", to_json(OperationRequest{"self_test", {}, {}})},
      {"InjectRequest", to_json(sample_inject_request())},
      {"AcknowledgeRequest", to_json(AcknowledgeRequest{"the card is ordered"})},
      {"Receipt", to_json(Receipt{"7", true})},
      {"PreflightRequest", to_json(PreflightRequest{{"gpu.pcie_bandwidth"}, std::chrono::seconds{60}})},
      {"PreflightRequest", to_json(PreflightRequest{})},
      {"PreflightProgress", to_json(PreflightProgress{"gpu-7", "waits", sample_preflight_result().tests})},
      {"PreflightResult", to_json(sample_preflight_result())},
      {"PreflightResult", to_json(PreflightResult{})},
  };
  for (const auto& [schema, json] : samples)
    std::printf("%s\n%s", schema.c_str(), json.c_str());
  return 0;
}
