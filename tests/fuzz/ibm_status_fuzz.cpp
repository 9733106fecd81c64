// SPDX-License-Identifier: Apache-2.0
// Requests of untrusted clients to IBM Autopilot's paths, and answers of other agents: the target of a
// request, and after a line end the reply of a node. Every node always has its block, and no text of a client
// or node reaches the first lines, where clients expect ours.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/status_request.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "net/url.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::ibm_status_fuzz {
namespace {

namespace ibm = autopilot::compat::ibm_autopilot;

void require(bool condition) {
  if (!condition) std::abort();
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

void ask(const ibm::StatusRequest& request, const std::string& reply) {
  require(lines_in(ibm::asking_line(request)) == 2);
  const std::vector<std::string> hosts = ibm::asked_hosts(request, {"node-a", "node-b"});
  std::vector<ibm::AskedNode> asked;
  for (const std::string& host : hosts)
    asked.push_back({host, "10.1.0.7", "http://10.1.0.7:3333" + ibm::path_of(request, host), reply});
  const std::string text = ibm::transcript(asked, {});
  for (const std::string& host : hosts)
    require(text.find("\nNode: " + host + "\n") != std::string::npos);
  require(!ibm::status_words(reply).empty());
  autopilot::NodeSnapshot snapshot;
  snapshot.node = "node-a";
  const auto answers = ibm::answers_of(ibm::named_checks(request.checks, {"remapped"}), snapshot);
  require(!ibm::to_json(answers, snapshot).empty());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view input(static_cast<const char*>(bytes), size);
  const auto end = std::min(input.find('\n'), input.size());
  const auto target = autopilot::net::parse_request_target(input.substr(0, end));
  if (!target) return 0;
  const auto request = ibm::read_status_request(target->query);
  if (!request) {
    require(lines_in(request.error().what) == 0);
    return 0;
  }
  const auto job = ibm::read_job(request->job);
  require(job || lines_in(job.error().what) == 0);
  ask(*request, std::string(input.substr(std::min(end + 1, input.size()))));
  return 0;
}

}  // namespace autopilot::ibm_status_fuzz
