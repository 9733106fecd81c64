// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/probes.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <utility>

#include "diagnostics/child/gpu_probe_helper.hpp"
#include "nettest/echo/probe_json.hpp"

namespace autopilot::nettest {

namespace {

namespace json = boost::json;

constexpr std::string_view kNetProbe = "autopilot-net-probe";
constexpr std::size_t kNetReportDepth = 8;
constexpr std::int64_t kMostPort = 65535;
// Seconds that do not count, in which TCP adapts its rate to the path.
constexpr int kSettling = 1;
constexpr double kMostNetBits = 1e15;  // a thousand times the fastest line there is
constexpr double kMostMicroseconds = 60e6;

tl::unexpected<Error> refuse_net_report(const std::string& what) {
  return refuse_probe_report(kNetProbe, what);
}

Result<json::object> read_net_report(std::string_view text, std::string_view role) {
  json::object object = TRY(read_probe_report(text, kNetProbe, kMaxNetProbeReport, kNetReportDepth));
  const json::value* const said = object.if_contains("role");
  if (said == nullptr || !said->is_string() || said->get_string() != role)
    return refuse_net_report("it is not of the role " + std::string(role));
  return object;
}

std::optional<double> amount_of(const json::object& object, std::string_view name, double most) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  json::error_code error;
  const double amount = member->to_number<double>(error);
  return !error && amount >= 0 && amount <= most ? std::optional(amount) : std::nullopt;
}

std::optional<double> net_rate_of(const json::object& object, std::string_view name) {
  return amount_of(object, name, kMostNetBits);
}

std::optional<Carried> carried_by(const json::object& way) {
  const auto sent = net_rate_of(way, "sent_bits_per_second");
  const auto received = net_rate_of(way, "received_bits_per_second");
  if (!sent || !received) return std::nullopt;
  return Carried{*sent, *received};
}

// Direction of the whole report, or of one process. Null: it was not measured.
const json::object* way_in(const json::object& object, bool from_peer) {
  const json::array* const ways = probe_list(object, "directions");
  if (ways == nullptr) return nullptr;
  for (const json::value& item : *ways) {
    const json::object* const way = item.if_object();
    if (way != nullptr && probe_text(*way, "direction") == (from_peer ? "from_peer" : "to_peer")) return way;
  }
  return nullptr;
}

std::vector<Carried> processes_in(const json::object& report, bool from_peer) {
  std::vector<Carried> carried;
  const json::array* const processes = probe_list(report, "processes");
  if (processes == nullptr) return carried;
  for (const json::value& item : *processes) {
    const json::object* const process = item.if_object();
    const json::object* const way = process == nullptr ? nullptr : way_in(*process, from_peer);
    const auto part = way == nullptr ? std::nullopt : carried_by(*way);
    if (part) carried.push_back(*part);
  }
  return carried;
}

bool has_arrived(const Carried& part) {
  return part.received > 0;
}

std::optional<Bandwidth> bandwidth_of(const json::object& way) {
  const auto all = carried_by(way);
  if (!all) return std::nullopt;
  Bandwidth bandwidth{.all = *all};
  if (const json::array* const samples = probe_list(way, "samples"))
    for (const json::value& item : *samples) {
      json::error_code error;
      const double sample = item.to_number<double>(error);
      if (!error && sample >= 0 && sample <= kMostNetBits) bandwidth.samples.push_back(sample);
    }
  return bandwidth;
}

std::optional<RdmaLatency> latency_of(const json::object& report) {
  const json::value* const member = report.if_contains("latency");
  const json::object* const latency = member == nullptr ? nullptr : member->if_object();
  if (latency == nullptr) return std::nullopt;
  const auto typical = amount_of(*latency, "typical_microseconds", kMostMicroseconds);
  const auto p99 = amount_of(*latency, "p99_microseconds", kMostMicroseconds);
  const auto most = amount_of(*latency, "max_microseconds", kMostMicroseconds);
  if (!typical || !p99 || !most) return std::nullopt;
  return RdmaLatency{*typical, *p99, *most};
}

host::Command net_command_with(const std::string& program, std::vector<std::string> arguments) {
  host::Command command;
  command.program = program;
  command.arguments = std::move(arguments);
  command.environment = host::own_environment();
  return command;
}

void add_gpu(std::vector<std::string>& arguments, const std::string& gpu) {
  if (!gpu.empty()) arguments.insert(arguments.end(), {"--gpu", gpu});
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : ",").append(word);
  return text;
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers)
    text.append(text.empty() ? "" : ",").append(std::to_string(number));
  return text;
}

}  // namespace

Result<std::string> net_probe_program() {
  return host::program_beside_own("autopilot-net-probe");
}

host::Command command_of(const std::string& program, const BandwidthServer& server) {
  return net_command_with(
      program, {"serve", "--bind", server.address, "--port", std::to_string(server.first_port), "--count",
                std::to_string(server.processes), "--seconds", std::to_string(server.seconds), "--allow",
                joined(server.allowed), "--numa", "auto"});
}

host::Command command_of(const std::string& program, const BandwidthTest& test) {
  std::vector<std::string> arguments{"measure",
                                     "--to",
                                     test.to,
                                     "--port",
                                     joined(test.ports),
                                     "--bind",
                                     test.address,
                                     "--processes",
                                     std::to_string(test.ports.size()),
                                     "--streams",
                                     std::to_string(test.streams),
                                     "--seconds",
                                     std::to_string(test.seconds),
                                     "--omit",
                                     std::to_string(kSettling),
                                     "--numa",
                                     "auto"};
  if (test.from_peer) arguments.emplace_back("--reverse");
  if (test.most) arguments.insert(arguments.end(), {"--limit", std::to_string(*test.most)});
  return net_command_with(program, std::move(arguments));
}

host::Command command_of(const std::string& program, const RdmaServer& server) {
  std::vector<std::string> arguments{"rdma-serve",
                                     "--bind",
                                     server.address,
                                     "--device",
                                     server.port,
                                     "--seconds",
                                     std::to_string(server.seconds),
                                     "--test-seconds",
                                     std::to_string(server.test_seconds)};
  add_gpu(arguments, server.gpu);
  return net_command_with(program, std::move(arguments));
}

host::Command command_of(const std::string& program, const RdmaTest& test) {
  std::vector<std::string> arguments{"rdma-measure",
                                     "--to",
                                     test.to,
                                     "--bind",
                                     test.address,
                                     "--device",
                                     test.port,
                                     "--port",
                                     joined(test.ports),
                                     "--seconds",
                                     std::to_string(test.seconds)};
  add_gpu(arguments, test.gpu);
  if (test.most) arguments.insert(arguments.end(), {"--limit", std::to_string(*test.most)});
  return net_command_with(program, std::move(arguments));
}

host::Command command_of(const std::string& program, const RdmaLoopback& test) {
  std::vector<std::string> arguments{"rdma-loopback", "--device", test.port, "--seconds",
                                     std::to_string(test.seconds)};
  add_gpu(arguments, test.gpu);
  return net_command_with(program, std::move(arguments));
}

Result<std::vector<int>> parse_listening(std::string_view line) {
  const json::object object = TRY(read_net_report(line, "serve"));
  const json::array* const ports = probe_list(object, "ports");
  const json::array* const failed = probe_list(object, "failed");
  if (ports == nullptr || failed == nullptr) return refuse_net_report("`ports` or `failed` is not a list");
  if (!failed->empty()) {
    const json::object* const first = failed->front().if_object();
    return fail(Errc::unavailable,
                first == nullptr ? "a server does not listen" : probe_text(*first, "error"));
  }
  std::vector<int> listening;
  for (const json::value& item : *ports) {
    json::error_code error;
    const auto port = item.to_number<std::int64_t>(error);
    if (error || port < 1 || port > kMostPort) return refuse_net_report("an item of `ports` is not a port");
    listening.push_back(static_cast<int>(port));
  }
  if (listening.empty()) return refuse_net_report("`ports` is empty");
  return listening;
}

Result<BandwidthReport> parse_bandwidth(std::string_view text, bool from_peer) {
  const json::object object = TRY(read_net_report(text, "measure"));
  BandwidthReport report{
      .measured = std::nullopt, .reason = probe_text(object, "reason"), .error = probe_text(object, "error")};
  if (!report.reason.empty()) {
    report.came_through = std::ranges::any_of(processes_in(object, from_peer), has_arrived);
    return report;
  }
  if (const json::object* const way = way_in(object, from_peer)) report.measured = bandwidth_of(*way);
  if (!report.measured) return refuse_net_report("it has neither a reason nor the direction");
  report.measured->processes = processes_in(object, from_peer);
  return report;
}

Result<RdmaReport> parse_rdma(std::string_view text) {
  const json::object object = TRY(read_net_report(text, "measure"));
  RdmaReport report;
  report.reason = probe_text(object, "reason");
  report.error = probe_text(object, "error");
  const json::object* const there = way_in(object, false);
  const json::object* const back = way_in(object, true);
  const auto to_peer = there == nullptr ? std::nullopt : bandwidth_of(*there);
  const auto from_peer = back == nullptr ? std::nullopt : bandwidth_of(*back);
  const auto latency = latency_of(object);
  if (report.reason.empty() && !(to_peer && from_peer && latency))
    return refuse_net_report("it has no reason, and lacks a direction or the latency");
  report.came_through = to_peer || from_peer;
  if (to_peer && from_peer) report.measured = RdmaBandwidth{*to_peer, *from_peer, latency};
  return report;
}

namespace {

namespace json = boost::json;

constexpr std::string_view kNcclProbe = "autopilot-gpu-probe";
constexpr std::size_t kNcclReportDepth = 4;
constexpr std::size_t kMaxSamples = 256;
constexpr std::size_t kIdLength = 256;  // digits of ncclUniqueId, 128 bytes
constexpr int kMostRanks = 4096;
constexpr const char* kIdVariable = "AUTOPILOT_NCCL_ID=";
constexpr double kMostNcclBits = 1e15;  // a thousand times the fastest line there is

tl::unexpected<Error> refuse_nccl_report(const std::string& what) {
  return refuse_probe_report(kNcclProbe, what);
}

Result<json::object> read_nccl_report(std::string_view text) {
  return read_probe_report(text, kNcclProbe, kMaxNcclProbeReport, kNcclReportDepth);
}

std::optional<double> nccl_rate_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  json::error_code error;
  const double rate = value->to_number<double>(error);
  return !error && rate > 0 && rate <= kMostNcclBits ? std::optional(rate) : std::nullopt;
}

std::optional<int> rank_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  json::error_code error;
  const int rank = value->to_number<int>(error);
  return !error && rank >= 0 && rank < kMostRanks ? std::optional(rank) : std::nullopt;
}

std::vector<double> samples_of(const json::object& report) {
  std::vector<double> samples;
  const json::array* const list = probe_list(report, "samples");
  if (list == nullptr) return samples;
  for (const json::value& item : *list)
    if (const auto rate = nccl_rate_of(&item); rate && samples.size() < kMaxSamples) samples.push_back(*rate);
  return samples;
}

host::Command nccl_command_with(const std::string& program, const AllReduceEnd& end,
                                std::vector<std::string> arguments) {
  host::Command command;
  command.program = program;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.end(),
                           {"--bind", end.address, "--count", std::to_string(end.gpus), "--ranks",
                            std::to_string(end.ranks), "--seconds", std::to_string(end.seconds), "--patience",
                            std::to_string(kNcclPatience), "--require-idle"});
  if (end.vendor == host::GpuVendor::amd)
    command.arguments.insert(command.arguments.end(), {"--vendor", "amd"});
  command.environment = diagnostics::gpu_probe_environment();
  std::erase_if(command.environment, [](const std::string& one) { return one.starts_with(kIdVariable); });
  return command;
}

}  // namespace

host::Command command_of(const std::string& program, const AllReduceServer& server) {
  return nccl_command_with(program, server.end, {"nccl-serve"});
}

host::Command command_of(const std::string& program, const AllReduceTest& test) {
  host::Command command = nccl_command_with(
      program, test.end, {"nccl-measure", "--id", "-", "--first", std::to_string(test.first)});
  command.environment.push_back(kIdVariable + test.id);
  return command;
}

Result<std::string> parse_nccl_id(std::string_view line) {
  const json::object object = TRY(read_nccl_report(line));
  if (const std::string reason = probe_text(object, "reason"); !reason.empty()) {
    const std::string error = probe_text(object, "error");
    return fail(Errc::unavailable, error.empty() ? reason : error);
  }
  std::string id = probe_text(object, "id");
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (id.size() != kIdLength || !std::ranges::all_of(id, is_digit)) return refuse_nccl_report("`id` is none");
  return id;
}

Result<AllReduceReport> parse_all_reduce(std::string_view text) {
  const json::object object = TRY(read_nccl_report(text));
  AllReduceReport report;
  report.reason = probe_text(object, "reason");
  report.error = probe_text(object, "error");
  report.wrong_rank = rank_of(object.if_contains("wrong_rank"));
  report.wrong_last_rank = rank_of(object.if_contains("wrong_last_rank"));
  if (!report.reason.empty()) return report;
  const auto bus = nccl_rate_of(object.if_contains("bus_bits_per_second"));
  if (!bus) return refuse_nccl_report("it has neither a reason nor a bus bandwidth");
  report.measured = AllReduce{*bus, samples_of(object)};
  return report;
}

}  // namespace autopilot::nettest
