// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::api {

// Requests between agents for a bandwidth test of two nodes: one agent starts servers (POST
// /v1/network/servers), then the other one measures (POST /v1/network/bandwidth). Pure.

inline constexpr const char* kServersPath = "/v1/network/servers";
inline constexpr const char* kBandwidthPath = "/v1/network/bandwidth";

inline constexpr std::size_t kMostProcesses = 16;
inline constexpr std::size_t kMostStreams = 64;  // of each process
inline constexpr std::size_t kMostServerSeconds = 120;
// One each for write, read and latency.
inline constexpr std::size_t kRdmaPrograms = 3;
inline constexpr std::uint64_t kLeastRdmaBits = 1'000'000;  // least rate limit of a test
// GPUs of all nodes in one all-reduce.
inline constexpr std::size_t kMostRanks = 4096;
// Hexadecimal digits of ncclUniqueId, 128 bytes.
inline constexpr std::size_t kNcclIdLength = 256;
// For each direction, so that both end or time out before the deadline of a server's response.
inline constexpr std::size_t kMostTestSeconds = 15;

// An all-reduce without `ranks` is of a pair of nodes with equal numbers of GPUs.
[[nodiscard]] inline std::size_t ranks_of(std::size_t ranks, std::size_t gpus) {
  return ranks == 0 ? 2 * gpus : ranks;
}

// Location of the buffers of an RDMA test. Requests do not name a GPU: each agent uses the GPU that is
// nearest to its port.
enum class Memory : std::uint8_t { host, gpu };

struct ServersRequest {
  std::string address;  // of the node that receives the request
  std::string
      allowed;  // the only accepted client address; with RDMA, the first client to connect is accepted
  std::size_t processes = 1;
  std::size_t seconds = 0;       // until the servers stop
  std::string rdma_port = {};    // "mlx5_0/1": RDMA, with one process for each program; empty: TCP or NCCL
  std::size_t test_seconds = 0;  // not for TCP: duration that the other node will request
  std::size_t gpus = 0;          // NCCL: GPUs of this node in the all-reduce; else 0
  std::size_t ranks = 0;         // NCCL: GPUs of all nodes; see ranks_of
  Memory memory = Memory::host;  // host, unless RDMA

  friend bool operator==(const ServersRequest&, const ServersRequest&) = default;
};
[[nodiscard]] std::string to_json(const ServersRequest& request);
// malformed: a value is missing, unknown or beyond the limits. The same applies to the other parsers here.
[[nodiscard]] Result<ServersRequest> parse_servers_request(std::string_view json);

struct ServersAnswer {
  std::string id;  // DELETE /v1/network/servers/{id} stops them early
  std::vector<std::uint16_t> ports;
  std::string nccl_id = {};  // NCCL, instead of ports: see BandwidthRequest

  friend bool operator==(const ServersAnswer&, const ServersAnswer&) = default;
};
[[nodiscard]] std::string to_json(const ServersAnswer& answer);
[[nodiscard]] Result<ServersAnswer> parse_servers_answer(std::string_view json);

// NCCL: reasons of docs/gpu-probe.md. A GPU received a wrong sum.
inline constexpr std::string_view kWrongResult = "wrong_result";
// Another rank has ended: what another node reports is the cause.
inline constexpr std::string_view kPeerVanished = "peer_vanished";

inline constexpr const char* kWrongHere = "here";    // on the node that received the request
inline constexpr const char* kWrongThere = "there";  // on another node

// Response of DELETE: results of the servers that the other node can lack. Without a reason: no fault.
struct ServersEnd {
  // NCCL: a reason of docs/gpu-probe.md, if the server ended by itself, or kWrongResult.
  std::string reason;
  std::string error;          // the reason as a sentence
  std::string wrong_at = {};  // location of the GPU, see BandwidthAnswer

  friend bool operator==(const ServersEnd&, const ServersEnd&) = default;
};
[[nodiscard]] std::string to_json(const ServersEnd& end);
[[nodiscard]] Result<ServersEnd> parse_servers_end(std::string_view json);

struct BandwidthRequest {
  std::string address;               // of the node that receives the request
  std::string node;                  // the other node
  std::string to;                    // address of the other node
  std::vector<std::uint16_t> ports;  // one for each process
  std::size_t streams = 1;           // of each process
  std::size_t seconds = 0;           // of each direction, one after the other
  std::uint64_t most = 0;            // bits/s, for all processes together; 0: unlimited
  std::string rdma_port = {};        // see ServersRequest
  std::size_t gpus = 0;              // see ServersRequest
  std::size_t ranks = 0;             // see ServersRequest
  std::size_t first_rank =
      0;  // with `ranks`: rank of the first GPU of this node; not 0, which is the waiting node
  std::string nccl_id =
      {};  // NCCL, instead of ports: the communicator to join, kNcclIdLength hexadecimal digits
  Memory memory = Memory::host;  // see ServersRequest

  friend bool operator==(const BandwidthRequest&, const BandwidthRequest&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthRequest& request);
[[nodiscard]] Result<BandwidthRequest> parse_bandwidth_request(std::string_view json);

struct BandwidthWay {
  double sent = 0;                   // bits/s
  double received = 0;               // bits/s
  std::vector<double> samples = {};  // received bits/s, one for each second

  friend bool operator==(const BandwidthWay&, const BandwidthWay&) = default;
};
// Latency of a small message to the other node, microseconds.
struct BandwidthLatency {
  double typical = 0;  // median
  double p99 = 0;
  double most = 0;

  friend bool operator==(const BandwidthLatency&, const BandwidthLatency&) = default;
};
// Both directions, or why one was not measured. An all-reduce has one value for both, its bus bandwidth.
struct BandwidthAnswer {
  std::optional<BandwidthWay> to_peer;
  std::optional<BandwidthWay> from_peer;
  std::string reason;                            // a reason of docs/net-probe.md
  std::string error;                             // the reason as a sentence
  std::optional<BandwidthLatency> latency = {};  // RDMA only
  // NCCL only: location of the GPU with a wrong sum, kWrongHere or kWrongThere; empty: none, or unknown.
  std::string wrong_at = {};

  friend bool operator==(const BandwidthAnswer&, const BandwidthAnswer&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthAnswer& answer);
[[nodiscard]] Result<BandwidthAnswer> parse_bandwidth_answer(std::string_view json);

// GET /v1/network/plan?nodes=<name>,... of an agent: the bandwidth test between these nodes, or all, if it
// started now. Pure.

inline constexpr const char* kBandwidthPlanPath = "/v1/network/plan";

struct PlannedRail {
  std::string rail;                // an interface, with its rate if rates differ
  std::vector<std::string> nodes;  // nodes that have it

  friend bool operator==(const PlannedRail&, const PlannedRail&) = default;
};

struct PlannedPair {
  std::string rail;
  std::string source;
  std::string destination;

  friend bool operator==(const PlannedPair&, const PlannedPair&) = default;
};

struct LeftOut {
  std::string node;
  std::string why;  // a sentence

  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

struct BandwidthPlan {
  std::vector<PlannedRail> rails;
  std::vector<PlannedPair> pairs;  // of the first round; pairs after `rounds` depend on the results
  std::size_t seconds = 0;         // duration of the first round without failures
  std::size_t rounds = 1;          // rounds that run regardless of results, at least 1
  std::size_t most_percent = 100;  // share of the line rate that the test uses; 100: all
  std::vector<LeftOut> left_out;
  bool simulated = false;  // true if the planning node is simulated

  friend bool operator==(const BandwidthPlan&, const BandwidthPlan&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthPlan& plan);
// malformed: a value is missing.
[[nodiscard]] Result<BandwidthPlan> parse_bandwidth_plan(std::string_view json);

}  // namespace autopilot::api
