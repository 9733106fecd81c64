// SPDX-License-Identifier: Apache-2.0
#include "api/bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/network.hpp"
#include "api/wire.hpp"

namespace autopilot::api {

namespace {

constexpr double kMostBits = 1e15;  // a thousand times the fastest existing link

std::uint16_t read_port(const JsonObject& object) {
  const std::uint64_t port = object.count("port");
  return port <= std::numeric_limits<std::uint16_t>::max() ? static_cast<std::uint16_t>(port) : 0;
}

constexpr std::string_view kHostMemory = "host";
constexpr std::string_view kGpuMemory = "gpu";

std::optional<Memory> parse_memory(std::string_view word) {
  if (word == kHostMemory) return Memory::host;
  return word == kGpuMemory ? std::optional(Memory::gpu) : std::nullopt;
}

Memory read_memory(const JsonObject& object) {
  return object.has("memory") ? object.choice("memory", parse_memory) : Memory::host;
}

// Omitted for host memory: older agents do not know the member.
void write_memory(JsonWriter& out, Memory memory) {
  if (memory == Memory::gpu) out.word("memory", kGpuMemory);
}

bool is_by_tcp(const ServersRequest& request) {
  return request.rdma_port.empty() && request.gpus == 0;
}

ServersRequest read_servers_request(const JsonObject& object) {
  object.has_only(
      {"address", "allowed", "processes", "seconds", "rdmaPort", "gpus", "ranks", "testSeconds", "memory"});
  ServersRequest request{object.word("address"), object.word("allowed"), object.count("processes"),
                         object.count("seconds"), object.word_or_empty("rdmaPort")};
  if (object.has("gpus")) request.gpus = object.count("gpus");
  if (object.has("ranks")) request.ranks = object.count("ranks");
  if (!is_by_tcp(request)) request.test_seconds = object.count("testSeconds");
  request.memory = read_memory(object);
  return request;
}

ServersAnswer read_servers_answer(const JsonObject& object) {
  return {object.word("id"), object.list("ports", read_port), object.word_or_empty("ncclId")};
}

ServersEnd read_servers_end(const JsonObject& object) {
  return {object.word_or_empty("reason"), object.word_or_empty("error"), object.word_or_empty("wrongAt")};
}

BandwidthRequest read_bandwidth_request(const JsonObject& object) {
  object.has_only({"address", "node", "to", "ports", "streams", "seconds", "mostBitsPerSecond", "rdmaPort",
                   "gpus", "ranks", "firstRank", "ncclId", "memory"});
  BandwidthRequest request{object.word("address"),          object.word("node"),     object.word("to"),
                           object.list("ports", read_port), object.count("streams"), object.count("seconds")};
  if (object.has("mostBitsPerSecond")) request.most = object.count("mostBitsPerSecond");
  request.rdma_port = object.word_or_empty("rdmaPort");
  if (object.has("gpus")) request.gpus = object.count("gpus");
  if (object.has("ranks")) request.ranks = object.count("ranks");
  if (object.has("firstRank")) request.first_rank = object.count("firstRank");
  request.nccl_id = object.word_or_empty("ncclId");
  request.memory = read_memory(object);
  return request;
}

double read_sample(const JsonObject& object) {
  return object.number("bitsPerSecond");
}

BandwidthWay read_way(const JsonObject& object) {
  return {object.number("sentBitsPerSecond"), object.number("receivedBitsPerSecond"),
          object.list("samples", read_sample)};
}

BandwidthLatency read_latency(const JsonObject& object) {
  return {object.number("typicalMicroseconds"), object.number("p99Microseconds"),
          object.number("maxMicroseconds")};
}

BandwidthAnswer read_bandwidth_answer(const JsonObject& object) {
  BandwidthAnswer answer;
  if (object.has("toPeer")) answer.to_peer = object.object("toPeer", read_way);
  if (object.has("fromPeer")) answer.from_peer = object.object("fromPeer", read_way);
  answer.reason = object.word_or_empty("reason");
  answer.error = object.word_or_empty("error");
  if (object.has("latency")) answer.latency = object.object("latency", read_latency);
  answer.wrong_at = object.word_or_empty("wrongAt");
  return answer;
}

void write_ports(JsonWriter& out, const std::vector<std::uint16_t>& ports) {
  out.begin_list("ports");
  for (const std::uint16_t port : ports) {
    out.begin_object();
    out.count("port", port);
    out.end_object();
  }
  out.end_list();
}

void write_way(JsonWriter& out, std::string_view name, const std::optional<BandwidthWay>& way) {
  if (!way) return;
  out.begin_object(name);
  out.number("sentBitsPerSecond", way->sent);
  out.number("receivedBitsPerSecond", way->received);
  out.begin_list("samples");
  for (const double sample : way->samples) {
    out.begin_object();
    out.number("bitsPerSecond", sample);
    out.end_object();
  }
  out.end_list();
  out.end_object();
}

void write_latency(JsonWriter& out, const std::optional<BandwidthLatency>& latency) {
  if (!latency) return;
  out.begin_object("latency");
  out.number("typicalMicroseconds", latency->typical);
  out.number("p99Microseconds", latency->p99);
  out.number("maxMicroseconds", latency->most);
  out.end_object();
}

Status check_count(std::string_view name, std::size_t count, std::size_t most) {
  if (count >= 1 && count <= most) return {};
  return fail(Errc::malformed, std::string(name) + ": expected 1 to " + std::to_string(most));
}

Status check_ports(const std::vector<std::uint16_t>& ports) {
  TRY_STATUS(check_count("ports", ports.size(), kMostProcesses));
  for (const std::uint16_t port : ports)
    if (port == 0) return fail(Errc::malformed, "ports: expected numbers from 1 to 65535");
  return {};
}

Status check_gpus(std::size_t gpus, std::size_t ranks, const std::string& rdma_port) {
  if (!rdma_port.empty()) return fail(Errc::malformed, "rdmaPort, gpus: expected one of them");
  TRY_STATUS(check_count("gpus", gpus, NodeNetwork::kMostGpus));
  if (ranks == 0 || (ranks > gpus && ranks <= kMostRanks)) return {};
  return fail(Errc::malformed, "ranks: expected more than gpus, and at most " + std::to_string(kMostRanks));
}

Status check_first_rank(const BandwidthRequest& request) {
  const std::size_t last = request.ranks == 0 ? 0 : request.ranks - request.gpus;
  if ((request.first_rank == 0) == (request.ranks == 0) && request.first_rank <= last) return {};
  return fail(Errc::malformed, "firstRank: expected 1 to ranks less gpus, with ranks");
}

Status check_wrong_at(const std::string& at) {
  if (at.empty() || at == kWrongHere || at == kWrongThere) return {};
  return fail(Errc::malformed, "wrongAt: expected `here` or `there`");
}

Status check_memory(Memory memory, const std::string& rdma_port) {
  if (memory == Memory::host || !rdma_port.empty()) return {};
  return fail(Errc::malformed, "memory: GPU memory needs RDMA; set rdmaPort");
}

// It becomes an argument of a program.
Status check_nccl_id(const std::string& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (id.size() == kNcclIdLength && id.find_first_not_of(kDigits) == std::string::npos) return {};
  return fail(Errc::malformed, "ncclId: expected " + std::to_string(kNcclIdLength) + " hexadecimal digits");
}

Status check_ipv4(std::string_view name, const std::string& address) {
  if (!is_ipv6(address)) return {};
  return fail(Errc::malformed, std::string(name) + ": RDMA needs an IPv4 address");
}

bool is_rate(const std::optional<BandwidthWay>& way) {
  const auto is_good = [](double rate) { return std::isfinite(rate) && rate >= 0 && rate <= kMostBits; };
  return !way || (is_good(way->sent) && is_good(way->received) &&
                  way->samples.size() <= kMostTestSeconds + 1 && std::ranges::all_of(way->samples, is_good));
}

bool is_time(const std::optional<BandwidthLatency>& latency) {
  constexpr double kMostMicroseconds = 60e6;
  const auto is_good = [](double time) { return time >= 0 && time <= kMostMicroseconds; };
  return !latency || (is_good(latency->typical) && is_good(latency->p99) && is_good(latency->most));
}

}  // namespace

std::string to_json(const ServersRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("address", request.address);
  out.word("allowed", request.allowed);
  out.count("processes", request.processes);
  out.count("seconds", request.seconds);
  out.word_if_any("rdmaPort", request.rdma_port);
  if (request.gpus > 0) out.count("gpus", request.gpus);
  if (request.ranks > 0) out.count("ranks", request.ranks);
  if (!is_by_tcp(request)) out.count("testSeconds", request.test_seconds);
  write_memory(out, request.memory);
  out.end_object();
  return out.take();
}

Result<ServersRequest> parse_servers_request(std::string_view json) {
  auto request = TRY(read_text(json, read_servers_request));
  TRY_STATUS(check_count("processes", request.processes, kMostProcesses));
  TRY_STATUS(check_count("seconds", request.seconds, kMostServerSeconds));
  TRY_STATUS(check_memory(request.memory, request.rdma_port));
  if (is_by_tcp(request)) return request;
  TRY_STATUS(check_count("testSeconds", request.test_seconds, kMostTestSeconds));
  if (request.gpus > 0)
    TRY_STATUS(check_gpus(request.gpus, request.ranks, request.rdma_port));
  else
    TRY_STATUS(check_ipv4("address", request.address));
  return request;
}

std::string to_json(const ServersAnswer& answer) {
  JsonWriter out;
  out.begin_object();
  out.word("id", answer.id);
  write_ports(out, answer.ports);
  out.word_if_any("ncclId", answer.nccl_id);
  out.end_object();
  return out.take();
}

Result<ServersAnswer> parse_servers_answer(std::string_view json) {
  auto answer = TRY(read_text(json, read_servers_answer));
  TRY_STATUS(answer.nccl_id.empty() ? check_ports(answer.ports) : check_nccl_id(answer.nccl_id));
  return answer;
}

std::string to_json(const ServersEnd& end) {
  JsonWriter out;
  out.begin_object();
  out.word_if_any("reason", end.reason);
  out.word_if_any("error", end.error);
  out.word_if_any("wrongAt", end.wrong_at);
  out.end_object();
  return out.take();
}

Result<ServersEnd> parse_servers_end(std::string_view json) {
  auto end = TRY(read_text(json, read_servers_end));
  TRY_STATUS(check_wrong_at(end.wrong_at));
  return end;
}

std::string to_json(const BandwidthRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("address", request.address);
  out.word("node", request.node);
  out.word("to", request.to);
  write_ports(out, request.ports);
  out.count("streams", request.streams);
  out.count("seconds", request.seconds);
  if (request.most > 0) out.count("mostBitsPerSecond", request.most);
  out.word_if_any("rdmaPort", request.rdma_port);
  if (request.gpus > 0) out.count("gpus", request.gpus);
  if (request.ranks > 0) out.count("ranks", request.ranks);
  if (request.first_rank > 0) out.count("firstRank", request.first_rank);
  out.word_if_any("ncclId", request.nccl_id);
  write_memory(out, request.memory);
  out.end_object();
  return out.take();
}

Result<BandwidthRequest> parse_bandwidth_request(std::string_view json) {
  auto request = TRY(read_text(json, read_bandwidth_request));
  const bool is_by_nccl = request.gpus > 0;
  TRY_STATUS(is_by_nccl ? check_nccl_id(request.nccl_id) : check_ports(request.ports));
  TRY_STATUS(check_count("streams", request.streams, kMostStreams));
  TRY_STATUS(check_count("seconds", request.seconds, kMostTestSeconds));
  if (is_by_nccl) {
    TRY_STATUS(check_gpus(request.gpus, request.ranks, request.rdma_port));
    TRY_STATUS(check_first_rank(request));
  }
  TRY_STATUS(check_memory(request.memory, request.rdma_port));
  if (request.rdma_port.empty()) return request;
  if (request.ports.size() != kRdmaPrograms)
    return fail(Errc::malformed, "ports: the number of ports for RDMA is " + std::to_string(kRdmaPrograms));
  if (request.most > 0 && request.most < kLeastRdmaBits)
    return fail(Errc::malformed,
                "mostBitsPerSecond: the minimum for RDMA is " + std::to_string(kLeastRdmaBits));
  TRY_STATUS(check_ipv4("address", request.address));
  TRY_STATUS(check_ipv4("to", request.to));
  return request;
}

std::string to_json(const BandwidthAnswer& answer) {
  JsonWriter out;
  out.begin_object();
  write_way(out, "toPeer", answer.to_peer);
  write_way(out, "fromPeer", answer.from_peer);
  out.word_if_any("reason", answer.reason);
  out.word_if_any("error", answer.error);
  write_latency(out, answer.latency);
  out.word_if_any("wrongAt", answer.wrong_at);
  out.end_object();
  return out.take();
}

Result<BandwidthAnswer> parse_bandwidth_answer(std::string_view json) {
  auto answer = TRY(read_text(json, read_bandwidth_answer));
  if (!is_rate(answer.to_peer) || !is_rate(answer.from_peer))
    return fail(Errc::malformed, "toPeer, fromPeer: expected bits per second");
  TRY_STATUS(check_wrong_at(answer.wrong_at));
  if (!is_time(answer.latency)) return fail(Errc::malformed, "latency: expected microseconds");
  if (answer.reason.empty() && !(answer.to_peer && answer.from_peer))
    return fail(Errc::malformed, "expected toPeer and fromPeer, or a reason");
  return answer;
}

namespace {

PlannedRail read_rail(const JsonObject& object) {
  return {object.word("rail"), object.words("nodes")};
}

PlannedPair read_pair(const JsonObject& object) {
  return {object.word("rail"), object.word("source"), object.word("destination")};
}

LeftOut read_left_out(const JsonObject& object) {
  return {object.word("node"), object.word("why")};
}

BandwidthPlan read_plan(const JsonObject& object) {
  return {.rails = object.list("rails", read_rail),
          .pairs = object.list("firstRound", read_pair),
          .seconds = object.count("firstRoundSeconds"),
          .rounds = object.count("rounds"),
          .most_percent = object.count("mostPercent"),
          .left_out = object.list("leftOut", read_left_out),
          .simulated = object.flag_or_false("simulated")};
}

}  // namespace

std::string to_json(const BandwidthPlan& plan) {
  JsonWriter out;
  out.begin_object();
  out.flag("simulated", plan.simulated);
  out.begin_list("rails");
  for (const PlannedRail& rail : plan.rails) {
    out.begin_object();
    out.word("rail", rail.rail);
    out.words("nodes", rail.nodes);
    out.end_object();
  }
  out.end_list();
  out.begin_list("firstRound");
  for (const PlannedPair& pair : plan.pairs) {
    out.begin_object();
    out.word("rail", pair.rail);
    out.word("source", pair.source);
    out.word("destination", pair.destination);
    out.end_object();
  }
  out.end_list();
  out.count("firstRoundSeconds", plan.seconds);
  out.count("rounds", plan.rounds);
  out.count("mostPercent", plan.most_percent);
  out.begin_list("leftOut");
  for (const LeftOut& left : plan.left_out) {
    out.begin_object();
    out.word("node", left.node);
    out.word("why", left.why);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return out.take();
}

Result<BandwidthPlan> parse_bandwidth_plan(std::string_view json) {
  return read_text(json, read_plan);
}

}  // namespace autopilot::api
