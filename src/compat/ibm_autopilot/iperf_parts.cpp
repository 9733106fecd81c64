// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/iperf_parts.hpp"

#include <algorithm>
#include <numeric>

#include "compat/ibm_autopilot/reading.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

constexpr int kMostPort = 65535;
constexpr std::string_view kErrorTag = "[NETWORK] - [IPERF] - [ERROR] : ";

struct Range {
  int least;
  int most;
};
constexpr Range kCounts{1, static_cast<int>(kMostIperfProcesses)};
constexpr Range kPorts{1, kMostPort};

// Empty: not set.
std::string_view parameter_value(const QueryParameters& query, std::string_view name) {
  const auto found = query.find(name);
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

// The older of two names, if only that one is set.
std::string_view set_one(const QueryParameters& query, std::string_view name, std::string_view older) {
  return parameter_value(query, name).empty() && !parameter_value(query, older).empty() ? older : name;
}

Result<int> parameter_number(const QueryParameters& query, std::string_view name, Range range) {
  const std::string_view text = parameter_value(query, name);
  const auto number = parse_number<int>(text);
  if (number && *number >= range.least && *number <= range.most) return *number;
  return fail(Errc::malformed, "Invalid " + std::string(name) + ", must be a number from " +
                                   std::to_string(range.least) + " to " + std::to_string(range.most) +
                                   ". Got " + to_printable(text, 64));
}

Result<int> number_or(const QueryParameters& query, std::string_view name, Range range, int otherwise) {
  return parameter_value(query, name).empty() ? Result<int>(otherwise) : parameter_number(query, name, range);
}

Status check_ports(int first, int count) {
  if (first + count - 1 <= kMostPort) return {};
  return fail(Errc::malformed, "Invalid ports, must end at " + std::to_string(kMostPort) + " at most. Got " +
                                   std::to_string(count) + " from " + std::to_string(first));
}

Result<Plane> plane_of(std::string_view word) {
  if (word.empty()) return Plane::any;
  if (word == "data") return Plane::data;
  if (word == "mgmt") return Plane::mgmt;
  return fail(Errc::malformed, "Invalid plane, must be data or mgmt. Got " + to_printable(word, 64));
}

std::string quantity(std::string_view name, double bits_per_second, bool is_last) {
  constexpr double kBitsPerGigabit = 1e9;
  constexpr double kBitsPerGigabyte = 8.0 * 1024 * 1024 * 1024;
  std::string text = "        \"";
  text.append(name).append("\": {\n            \"transfer\": \"");
  text += two_digits(bits_per_second * kIperfSeconds / kBitsPerGigabyte);
  text += "\",\n            \"bitrate\": \"" + two_digits(bits_per_second / kBitsPerGigabit);
  return text + "\"\n        }" + (is_last ? "\n" : ",\n");
}

std::string end_json(std::span<const IperfShare> clients, double IperfShare::*rate) {
  std::vector<double> rates;
  for (const IperfShare& client : clients)
    rates.push_back(client.*rate);
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  return quantity("aggregate", all, false) +
         quantity("mean", all / static_cast<double>(rates.size()), false) +
         quantity("min", *std::ranges::min_element(rates), false) +
         quantity("max", *std::ranges::max_element(rates), true);
}

}  // namespace

bool is_of(Plane plane, std::string_view interface) {
  return plane == Plane::any || (plane == Plane::mgmt) == (interface == "eth0");
}

Result<IperfServers> read_iperf_servers(const QueryParameters& query) {
  IperfServers wanted;
  wanted.count = TRY(number_or(query, set_one(query, "numservers", "serverspernode"), kCounts, wanted.count));
  wanted.first_port = TRY(number_or(query, "startport", kPorts, wanted.first_port));
  wanted.plane = TRY(plane_of(parameter_value(query, "plane")));
  TRY_STATUS(check_ports(wanted.first_port, wanted.count));
  return wanted;
}

Result<IperfClients> read_iperf_clients(const QueryParameters& query) {
  IperfClients wanted;
  wanted.to = parameter_value(query, "dstip");
  if (wanted.to.empty()) return fail(Errc::malformed, "Invalid dstip, must be an address. Got none");
  const int first = TRY(parameter_number(query, "dstport", kPorts));
  const int count = TRY(parameter_number(query, set_one(query, "numclients", "clientsperiface"), kCounts));
  TRY_STATUS(check_ports(first, count));
  wanted.ports.resize(static_cast<std::size_t>(count));
  std::iota(wanted.ports.begin(), wanted.ports.end(), first);
  return wanted;
}

std::string server_line(const std::string& address, int port, const std::string& interface,
                        const std::string& pod, const std::string& node) {
  std::string line(kNetworkTag);
  line += " Starting iperf3 server " + address + ":" + std::to_string(port) + " using " + interface;
  if (!pod.empty()) line += " in " + pod;
  return line + " on " + node + "...\n";
}

std::string servers_removed_line() {
  return std::string(kNetworkTag) + " All iperf3 servers have been removed.\n";
}

std::string iperf_error_line(std::string_view why) {
  return std::string(kErrorTag) + on_one_line(std::string(why)) + "\n";
}

std::string clients_json(std::span<const IperfShare> clients) {
  return "{\n    \"sender\": {\n" + end_json(clients, &IperfShare::sent) + "    },\n    \"receiver\": {\n" +
         end_json(clients, &IperfShare::received) + "    }\n}\n";
}

}  // namespace autopilot::compat::ibm_autopilot
