// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/status_request.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

// Echoed values must not add lines.
void take(const QueryParameters& query, std::string_view name, std::string& value) {
  const auto found = query.find(name);
  if (found != query.end() && !found->second.empty()) value = to_printable(found->second);
}

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The list without the network test of the cluster, which is not a check of a node.
std::string without_iperf(std::string_view list, bool& has_iperf) {
  std::string rest;
  for (const std::string_view name : split(list, ',')) {
    if (name == kNetworkTest) {
      has_iperf = true;
      continue;
    }
    if (!rest.empty()) rest += ',';
    rest += name;
  }
  return rest;
}

// One node, or several separated by commas and spaces.
bool is_host_list(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-._, ").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// The syntax of the API server: another text would select another path there.
bool is_namespace(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-';
  });
}

Status within_limits(const QueryParameters& query) {
  for (const auto& [name, value] : query)
    if (name != "host" && value.size() > kMaxParameter)
      return fail(Errc::malformed, "Invalid " + to_printable(name, 32) + ", must have at most " +
                                       std::to_string(kMaxParameter) + " characters");
  return {};
}

std::size_t count_parts(std::string_view list) {
  return static_cast<std::size_t>(std::ranges::count(list, ',')) + 1;
}

}  // namespace

Result<StatusRequest> read_status_request(const QueryParameters& query) {
  TRY_STATUS(within_limits(query));
  StatusRequest request;
  take(query, "host", request.host);
  take(query, "job", request.job);
  take(query, "nodelabel", request.node_label);
  take(query, "r", request.dcgm_level);
  take(query, "pingnodes", request.ping_nodes);
  if (!is_host_list(request.host))
    return fail(Errc::malformed, "Invalid host definition, must be names of nodes. Got " + request.host);
  std::string checks{kAll};
  take(query, "check", checks);
  request.checks = without_iperf(checks, request.wants_iperf);
  if (count_parts(request.host) > kMaxHosts || count_parts(checks) > kMaxChecks)
    return fail(Errc::malformed, "Invalid list, must be at most " + std::to_string(kMaxHosts) +
                                     " hosts and " + std::to_string(kMaxChecks) + " checks");
  std::string batch = "0";
  take(query, "batch", batch);
  const auto number = parse_number<std::uint32_t>(batch);
  if (!number) return fail(Errc::malformed, "Invalid batch, must be a number of nodes. Got " + batch);
  request.batch = *number;
  return request;
}

bool is_local(const StatusRequest& request, std::string_view node) {
  return request.host == node;
}

Parameters parameters_of(const StatusRequest& request, const std::string& node) {
  Parameters all{{"host", node}};
  if (has_part(request.checks, kAll)) return all;
  all.emplace_back("check", request.checks);
  if (has_part(request.checks, "ping")) {
    if (request.job != kUnset) all.emplace_back("job", request.job);
    if (request.node_label != kUnset) all.emplace_back("nodelabel", request.node_label);
    all.emplace_back("pingnodes", request.ping_nodes);
  }
  if (has_part(request.checks, "dcgm")) all.emplace_back("r", request.dcgm_level);
  return all;
}

std::string path_of(const StatusRequest& request, const std::string& node) {
  std::string path = "/status";
  for (const auto& [name, value] : parameters_of(request, node))
    path.append(path == "/status" ? "?" : "&").append(name).append("=").append(value);
  return path;
}

std::vector<std::string> asked_hosts(const StatusRequest& request, const std::vector<std::string>& nodes) {
  if (request.host == kAll) return nodes;
  std::vector<std::string> asked;
  for (const std::string_view part : split(request.host, ',')) {
    const std::string node(trim(part));
    if (!node.empty() && std::ranges::find(asked, node) == asked.end()) asked.push_back(node);
  }
  return asked;
}

Result<std::pair<std::string, std::string>> read_job(const std::string& job) {
  const auto colon = job.find(':');
  if (colon == std::string::npos || colon + 1 == job.size() || !is_namespace(job.substr(0, colon)))
    return fail(Errc::malformed, "Invalid job definition, must be namespace:label=value. Got " + job);
  return std::pair(job.substr(0, colon), job.substr(colon + 1));
}

std::string gpu_user_line(const std::string& name_space, const std::string& selector) {
  return "Workload: " + name_space + ": " + selector + "\n";
}

std::string not_allowed_line(const std::string& name_space) {
  return "Not allowed to list pods in " + name_space + "; send a token. ABORT.\n";
}

bool selects_nodes(const StatusRequest& request) {
  return request.job != kUnset || request.node_label != kUnset;
}

Result<StatusRequest> with_nodes(StatusRequest request, const std::set<std::string>& nodes) {
  if (!selects_nodes(request)) return request;
  std::vector<std::string> asked =
      request.host == kAll ? std::vector<std::string>{} : asked_hosts(request, {});
  for (const std::string& node : nodes)
    if (std::ranges::find(asked, node) == asked.end()) asked.push_back(node);
  if (asked.size() > kMaxHosts)
    return fail(Errc::malformed, "Too many nodes are selected: " + std::to_string(asked.size()) +
                                     ", but the limit is " + std::to_string(kMaxHosts));
  request.host.clear();
  for (const std::string& node : asked)
    request.host.append(request.host.empty() ? "" : ",").append(node);
  return request;
}

std::string network_test_line(const StatusRequest& request) {
  return "Running iperf3 on hosts " + request.host + " or job " + request.job + "\n\n";
}

std::string asking_line(const StatusRequest& request) {
  return "Asking to run on remote node(s) " + request.host + " or with node label " + request.node_label +
         "\n\n";
}

namespace {

// The first tag in a line decides.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTags{{
    {"PCIE", "PCIE Failed"},
    {"REMAPPED ROWS", "REMAPPED ROWS Failed"},
    {"DCGM", "DCGM Failed"},
    {"GPU POWER", "GPU POWER Failed"},
    {"PING", "PING Failed"},
    {"GPU-MEM", "GPU MEM Test Failed"},
    {"PVC", "PVC Create-Delete Test Failed"},
    {"Disconnected", "Connection to Server Failed"},
    // Not in the original, whose network test never fails. Replies between nodes do not contain it.
    {"[IPERF]", "IPERF Failed"},
}};

bool has_text(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

const auto* find_tag(std::string_view line) {
  return std::ranges::find_if(kTags, [line](const auto& tag) { return has_text(line, tag.first); });
}

}  // namespace

std::string without_tags(const std::string& text) {
  return find_tag(text) == kTags.end() ? text : to_lower(text);
}

std::vector<std::string> status_words(std::string_view reply) {
  std::vector<std::string> words;
  for (const std::string_view line : split(reply, '\n')) {
    if (!has_text(line, "FAIL") && !has_text(line, "ABORT")) continue;
    if (const auto* tag = find_tag(line); tag != kTags.end()) words.emplace_back(tag->second);
  }
  if (words.empty()) words.emplace_back("OK");
  return words;
}

}  // namespace autopilot::compat::ibm_autopilot
