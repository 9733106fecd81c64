// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/live_words.hpp"

#include <optional>

#include "api/jobs_v1.hpp"
#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/fault_list.hpp"
#include "cli/settings.hpp"
#include "cli/simulation.hpp"
#include "core/parse.hpp"
#include "core/pod_tests.hpp"

namespace autopilot::cli {
namespace {

// Of one request; looking for the agent sends two more at most.
constexpr Duration kCompletionPatience = std::chrono::milliseconds{90};
// It waits for nothing, and takes 10 ms.
constexpr Duration kSimulatorPatience = std::chrono::seconds{2};

std::string socket_in(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--socket";
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == kOption && i + 2 < words.size()) return words[i + 1];
    if (words[i].starts_with(std::string(kOption) + "=")) return words[i].substr(kOption.size() + 1);
  }
  return {};
}

std::optional<std::string> answer_of(const std::string& socket, const std::string& path) {
  const auto target = quick_agent_target(socket, kCompletionPatience);
  if (!target) return std::nullopt;
  auto body = AgentClient(*target).get(path, {}, kCompletionPatience);
  return body ? std::optional<std::string>(*std::move(body)) : std::nullopt;
}

std::vector<Candidate> incidents_at(const std::string& socket) {
  std::vector<Candidate> candidates;
  const auto body = answer_of(socket, "/v1/incidents");
  const auto incidents = body ? api::parse_incidents(*body) : fail(Errc::unavailable, "");
  if (incidents)
    for (const Incident& incident : *incidents)
      candidates.push_back({incident.id, incident.summary});
  return candidates;
}

std::vector<Candidate> jobs_at(const std::string& socket) {
  std::vector<Candidate> candidates;
  const auto body = answer_of(socket, "/v1/jobs");
  const auto list = body ? api::parse_jobs(*body) : fail(Errc::unavailable, "");
  if (list)
    for (const jobs::JobReport& job : list->jobs)
      candidates.push_back({job.state.job, std::string(jobs::to_string(job.state.health))});
  return candidates;
}

// Without an agent, the diagnostics that a machine can have.
std::vector<Candidate> tests_at(const std::string& socket) {
  std::vector<Candidate> candidates;
  const auto body = answer_of(socket, "/v1/tests");
  const auto tests = body ? api::parse_tests(*body) : fail(Errc::unavailable, "");
  if (tests)
    for (const api::TestInfo& test : *tests)
      candidates.push_back({test.id, test.title});
  else
    for (const std::string_view id : kPodTests)
      candidates.push_back({std::string(id), ""});
  return candidates;
}

std::vector<Candidate> listed_faults() {
  std::vector<Candidate> candidates;
  const auto text = simulated_faults_json(kSimulatorPatience);
  const auto faults = text ? parse_fault_list(*text) : fail(text.error());
  if (faults)
    for (const ListedFault& fault : *faults)
      candidates.push_back({fault.id, fault.title});
  return candidates;
}

std::vector<Candidate> listed_machines() {
  std::vector<Candidate> candidates;
  const auto text = simulated_machines_list(kSimulatorPatience);
  if (!text) return candidates;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t end = line.find(' ');
    if (!line.empty())
      candidates.push_back({std::string(line.substr(0, end)),
                            end == std::string_view::npos ? "" : std::string(trim(line.substr(end)))});
  }
  return candidates;
}

}  // namespace

LiveWords live_words(const std::vector<std::string>& words) {
  const std::string socket = socket_in(words);
  LiveWords live;
  live.incidents = [socket] { return incidents_at(socket); };
  live.jobs = [socket] { return jobs_at(socket); };
  live.tests = [socket] { return tests_at(socket); };
  live.faults = &listed_faults;
  live.machines = &listed_machines;
  return live;
}

}  // namespace autopilot::cli
