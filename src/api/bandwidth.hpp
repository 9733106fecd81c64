// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// What agents ask each other for a test of bandwidth between two nodes: one of them listens (POST
// /v1/network/servers), then the other one measures (POST /v1/network/bandwidth). Pure.
namespace autopilot::api {

inline constexpr const char* kServersPath = "/v1/network/servers";
inline constexpr const char* kBandwidthPath = "/v1/network/bandwidth";

inline constexpr std::size_t kMostProcesses = 16;
inline constexpr std::size_t kMostStreams = 64;  // of each process
inline constexpr std::size_t kMostServerSeconds = 120;
// One each for a write, a read and the latency.
inline constexpr std::size_t kRdmaPrograms = 3;
inline constexpr std::uint64_t kLeastRdmaBits = 1'000'000;  // that a test may be bound to
// GPUs of all nodes of one all-reduce.
inline constexpr std::size_t kMostRanks = 4096;
// Of ncclUniqueId, 128 bytes.
inline constexpr std::size_t kNcclIdLength = 256;
// Each way: both are over, or given up, before a server must have answered.
inline constexpr std::size_t kMostTestSeconds = 15;

// A request for an all-reduce that names no ranks is one of a pair, both of which have as many GPUs.
[[nodiscard]] inline std::size_t ranks_of(std::size_t ranks, std::size_t gpus) {
  return ranks == 0 ? 2 * gpus : ranks;
}

// Of which the buffers of a test by RDMA are. Nobody names a GPU to another node: each agent takes the one
// that is nearest to its port.
enum class Memory : std::uint8_t { host, gpu };

struct ServersRequest {
  std::string address;  // of the node that is asked
  std::string allowed;  // the only address that is heard; by RDMA the first who connects is
  std::size_t processes = 1;
  std::size_t seconds = 0;       // until nobody listens any more
  std::string rdma_port = {};    // "mlx5_0/1": by RDMA, with one process for each program; else empty
  std::size_t test_seconds = 0;  // not by TCP: what the other end will ask for
  std::size_t gpus = 0;          // by NCCL: an all-reduce with so many of this node; else 0
  std::size_t ranks = 0;         // and so many of all nodes; see ranks_of
  Memory memory = Memory::host;  // not by RDMA: that of the host

  friend bool operator==(const ServersRequest&, const ServersRequest&) = default;
};
[[nodiscard]] std::string to_json(const ServersRequest& request);
// malformed: what is missing, not known, or beyond the limits. So are the others.
[[nodiscard]] Result<ServersRequest> parse_servers_request(std::string_view json);

struct ServersAnswer {
  std::string id;  // DELETE /v1/network/servers/{id} ends them before their time
  std::vector<std::uint16_t> ports;
  std::string nccl_id = {};  // by NCCL, in place of ports: see BandwidthRequest

  friend bool operator==(const ServersAnswer&, const ServersAnswer&) = default;
};
[[nodiscard]] std::string to_json(const ServersAnswer& answer);
[[nodiscard]] Result<ServersAnswer> parse_servers_answer(std::string_view json);

// By NCCL, a reason of docs/gpu-probe.md: a GPU got a wrong sum.
inline constexpr std::string_view kWrongResult = "wrong_result";

inline constexpr const char* kWrongHere = "here";    // of the node that was asked
inline constexpr const char* kWrongThere = "there";  // of another one

// Of DELETE: what servers found that the other end may not know. No reason: nothing.
struct ServersEnd {
  std::string reason;         // kWrongResult
  std::string error;          // the same as a sentence
  std::string wrong_at = {};  // whose GPU got it, see BandwidthAnswer

  friend bool operator==(const ServersEnd&, const ServersEnd&) = default;
};
[[nodiscard]] std::string to_json(const ServersEnd& end);
[[nodiscard]] Result<ServersEnd> parse_servers_end(std::string_view json);

struct BandwidthRequest {
  std::string address;               // of the node that is asked
  std::string node;                  // the other one
  std::string to;                    // an address of it
  std::vector<std::uint16_t> ports;  // one for each process
  std::size_t streams = 1;           // of each process
  std::size_t seconds = 0;           // one way, and then the other
  std::uint64_t most = 0;            // bits/s, of all together; 0: what the network has
  std::string rdma_port = {};        // see ServersRequest
  std::size_t gpus = 0;              // likewise
  std::size_t ranks = 0;             // likewise
  std::size_t first_rank = 0;        // with `ranks`: of the first GPU of this node; not 0, who waits has that
  std::string nccl_id = {};      // by NCCL, in place of ports: whom to join, kNcclIdLength hexadecimal digits
  Memory memory = Memory::host;  // see ServersRequest

  friend bool operator==(const BandwidthRequest&, const BandwidthRequest&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthRequest& request);
[[nodiscard]] Result<BandwidthRequest> parse_bandwidth_request(std::string_view json);

struct BandwidthWay {
  double sent = 0;                   // bits/s
  double received = 0;               // bits/s
  std::vector<double> samples = {};  // bits/s that arrived, second by second

  friend bool operator==(const BandwidthWay&, const BandwidthWay&) = default;
};
// Of a small message to the other end, microseconds.
struct BandwidthLatency {
  double typical = 0;  // the middle
  double p99 = 0;
  double most = 0;

  friend bool operator==(const BandwidthLatency&, const BandwidthLatency&) = default;
};
// Both ways, or why one was not measured. An all-reduce has one figure, its bus bandwidth, for both.
struct BandwidthAnswer {
  std::optional<BandwidthWay> to_peer;
  std::optional<BandwidthWay> from_peer;
  std::string reason;                            // a word of docs/net-probe.md
  std::string error;                             // the same as a sentence
  std::optional<BandwidthLatency> latency = {};  // by RDMA alone
  // By NCCL alone, whose GPU got a wrong sum: kWrongHere or kWrongThere; empty: nobody's, or it is not known.
  std::string wrong_at = {};

  friend bool operator==(const BandwidthAnswer&, const BandwidthAnswer&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthAnswer& answer);
[[nodiscard]] Result<BandwidthAnswer> parse_bandwidth_answer(std::string_view json);

}  // namespace autopilot::api
