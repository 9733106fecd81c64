// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/report.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "core/parse.hpp"
#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {
namespace {

namespace json = boost::json;

std::int64_t bits(double bits_per_second) {
  return std::llround(bits_per_second);
}

std::string_view word_of(Flow flow) {
  switch (flow) {
    case Flow::to_peer:
      return "to_peer";
    case Flow::from_peer:
      return "from_peer";
    case Flow::both:
      return "both";
  }
  return {};
}

json::object head(std::string_view role, WallTime began) {
  return {{"program", "autopilot-net-probe"}, {"format", 1}, {"role", role}, {"began", format_time(began)}};
}

void add_failure(json::object& object, const std::optional<Failure>& failure) {
  if (!failure) return;
  object["reason"] = to_string(failure->reason);
  object["error"] = to_utf8(failure->text);
}

void add_count(json::object& object, std::string_view name, const std::optional<std::int64_t>& count) {
  if (count) object[name] = *count;
}

json::object direction_json(std::string_view name, const Direction& direction) {
  json::object object{{"direction", name},
                      {"sent_bits_per_second", bits(direction.sent_bits_per_second)},
                      {"received_bits_per_second", bits(direction.received_bits_per_second)}};
  add_count(object, "retransmits", direction.retransmits);
  json::array samples;
  for (const Sample& sample : direction.samples)
    samples.push_back(bits(sample.bits_per_second));
  object["samples"] = std::move(samples);
  return object;
}

json::array directions_json(const std::optional<Direction>& to_peer,
                            const std::optional<Direction>& from_peer) {
  json::array directions;
  if (to_peer) directions.push_back(direction_json(word_of(Flow::to_peer), *to_peer));
  if (from_peer) directions.push_back(direction_json(word_of(Flow::from_peer), *from_peer));
  return directions;
}

json::object process_json(const ProcessReport& process) {
  json::object object{{"port", process.port}};
  if (!process.processors.empty())
    object["processors"] = json::array(process.processors.begin(), process.processors.end());
  add_failure(object, process.failure);
  if (!process.measured) return object;
  const IperfResult& measured = *process.measured;
  object["directions"] = directions_json(measured.to_peer, measured.from_peer);
  if (measured.cpu_percent) object["cpu_percent"] = *measured.cpu_percent;
  if (measured.peer_cpu_percent) object["peer_cpu_percent"] = *measured.peer_cpu_percent;
  add_count(object, "mss_bytes", measured.mss_bytes);
  if (!measured.version.empty()) object["version"] = measured.version;
  if (!measured.peer_version.empty()) object["peer_version"] = measured.peer_version;
  return object;
}

std::optional<Direction> total_of(const MeasureReport& report,
                                  std::optional<Direction> IperfResult::*direction) {
  std::vector<std::optional<Direction>> directions;
  for (const ProcessReport& process : report.processes)
    directions.push_back(process.measured ? (*process.measured).*direction : std::nullopt);
  return sum_of(directions);
}

// The failure of the whole report: that of the first failed process.
std::optional<Failure> failure_of(const MeasureReport& report) {
  if (report.failure) return report.failure;
  for (const ProcessReport& process : report.processes)
    if (process.failure) return process.failure;
  return std::nullopt;
}

json::object server_json(const ServerReport& server) {
  json::object object;
  if (server.port != 0) object["port"] = server.port;
  add_failure(object, server.failure);
  return object;
}

// Ports of listening servers, and reasons of the others.
void add_servers(json::object& object, const std::vector<ServerReport>& servers) {
  json::array ports;
  json::array failed;
  for (const ServerReport& server : servers) {
    if (server.failure)
      failed.push_back(server_json(server));
    else
      ports.push_back(server.port);
  }
  object["ports"] = std::move(ports);
  object["failed"] = std::move(failed);
}

void add_device(json::object& object, const Device& device) {
  object["device"] = device.name;
  object["device_port"] = device.port;
  if (!device.gpu.empty()) object["gpu"] = device.gpu;
}

// RDMA loses no data: what the peer's adapter acknowledged has arrived.
std::optional<Direction> direction_of(const std::optional<double>& bits_per_second, int seconds) {
  if (!bits_per_second) return std::nullopt;
  return Direction{
      .sent_bits_per_second = *bits_per_second,
      .received_bits_per_second = *bits_per_second,
      .retransmits = {},
      .samples = {{.seconds = static_cast<double>(seconds), .bits_per_second = *bits_per_second}}};
}

json::object latency_json(const PerftestLatency& latency) {
  return {{"typical_microseconds", latency.typical_microseconds},
          {"p99_microseconds", latency.p99_microseconds},
          {"max_microseconds", latency.max_microseconds}};
}

}  // namespace

std::string to_json(const MeasureReport& report) {
  const MeasureOptions& options = report.options;
  json::object object = head("measure", report.began);
  if (report.stopped) object["stopped"] = true;
  add_failure(object, failure_of(report));
  object["to"] = options.to.text;
  if (!report.address.empty()) object["address"] = report.address;
  if (!report.interface.empty()) object["interface"] = to_utf8(report.interface);
  if (report.numa_node) object["numa_node"] = *report.numa_node;
  object["flow"] = word_of(options.flow);
  object["streams"] = options.streams;
  object["seconds"] = options.seconds;
  object["omit_seconds"] = options.omit_seconds;
  object["sample_seconds"] = static_cast<double>(options.seconds) / options.samples;
  if (options.bits_per_second) object["limit_bits_per_second"] = *options.bits_per_second;
  object["directions"] =
      directions_json(total_of(report, &IperfResult::to_peer), total_of(report, &IperfResult::from_peer));
  json::array processes;
  for (const ProcessReport& process : report.processes)
    processes.push_back(process_json(process));
  object["processes"] = std::move(processes);
  return json::serialize(object);
}

std::string to_json(const ServeReport& report) {
  json::object object = head("serve", report.began);
  object["address"] = report.options.bind.text;
  object["seconds"] = report.options.seconds;
  if (report.numa_node) object["numa_node"] = *report.numa_node;
  add_servers(object, report.servers);
  return json::serialize(object);
}

std::string to_json(const RdmaMeasureReport& report) {
  const RdmaMeasureOptions& options = report.options;
  json::object object = head("measure", report.began);
  if (report.stopped) object["stopped"] = true;
  add_failure(object, report.failure);
  object["to"] = options.to.text;
  object["address"] = options.bind.text;
  add_device(object, options.device);
  object["seconds"] = options.seconds;
  object["queues"] = options.queues;
  if (options.bits_per_second) object["limit_bits_per_second"] = *options.bits_per_second;
  object["directions"] = directions_json(direction_of(report.to_peer, options.seconds),
                                         direction_of(report.from_peer, options.seconds));
  if (report.latency) object["latency"] = latency_json(*report.latency);
  return json::serialize(object);
}

std::string to_json(const RdmaServeReport& report) {
  json::object object = head("serve", report.began);
  object["address"] = report.options.bind.text;
  object["seconds"] = report.options.seconds;
  add_device(object, report.options.device);
  add_servers(object, report.servers);
  return json::serialize(object);
}

int exit_code_of(const MeasureReport& report) {
  return failure_of(report) ? exit_not_measured : exit_done;
}

namespace {

void add_samples(Direction& total, const Direction& direction) {
  total.samples.resize(std::min(total.samples.size(), direction.samples.size()));
  for (std::size_t i = 0; i < total.samples.size(); ++i) {
    total.samples[i].bits_per_second += direction.samples[i].bits_per_second;
    total.samples[i].seconds = std::max(total.samples[i].seconds, direction.samples[i].seconds);
  }
}

}  // namespace

std::optional<Direction> sum_of(std::span<const std::optional<Direction>> directions) {
  if (directions.empty() || !directions.front()) return std::nullopt;
  Direction total = *directions.front();
  for (const std::optional<Direction>& direction : directions.subspan(1)) {
    if (!direction) return std::nullopt;
    total.sent_bits_per_second += direction->sent_bits_per_second;
    total.received_bits_per_second += direction->received_bits_per_second;
    if (total.retransmits && direction->retransmits)
      *total.retransmits += *direction->retransmits;
    else
      total.retransmits.reset();
    add_samples(total, *direction);
  }
  return total;
}

std::vector<Sample> whole_samples(const std::vector<Sample>& samples, double sample_seconds) {
  std::vector<Sample> whole;
  for (const Sample& sample : samples)
    if (sample.seconds >= sample_seconds / 2) whole.push_back(sample);
  return whole;
}

}  // namespace autopilot::probes::net
