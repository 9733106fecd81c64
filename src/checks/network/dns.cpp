// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_dns {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kResolvConf = "/etc/resolv.conf";
constexpr std::string_view kQuestions = "dns";

// About the host: whether a name server is configured.
constexpr std::string_view kConfigured = "name_servers.configured";
// About each server: the outcome of the query, whether the answer was anything but SERVFAIL, and its
// duration.
constexpr std::string_view kAnswer = "answer";
constexpr std::string_view kFound = "answer.found";
constexpr std::string_view kEverFound = "answer.found.largest";
constexpr std::string_view kSeconds = "answer.seconds";

// Reserve for the return: a run that reaches its deadline is abandoned without a result.
constexpr Duration kSlack = 300ms;
// A median needs at least this many answers.
constexpr std::size_t kFewestAnswers = 3;

using host::NameServerOutcome;

Subject peer(const std::string& address) {
  return make_subject(SubjectKind::peer, address);
}

bool is_answer(NameServerOutcome outcome) {
  return outcome == NameServerOutcome::answered || outcome == NameServerOutcome::helpless;
}

void add_answer(const host::NameServerAnswer& answer, ObservationBuilder& seen) {
  const Subject server = peer(answer.address);
  if (answer.outcome == NameServerOutcome::denied) {
    seen.add_missing(server, kAnswer, kQuestions, "denied", "permission to send to it is missing");
    return;
  }
  Observation& word = seen.add(server, kAnswer, kQuestions, std::string(to_string(answer.outcome)));
  if (is_answer(answer.outcome)) word.attributes = {{"code", host::dns_code_name(answer.code)}};
  const bool has_found = answer.outcome == NameServerOutcome::answered && answer.code != host::kServerFailure;
  seen.add(server, kFound, kQuestions, has_found);
  if (has_found) seen.add(server, kSeconds, kQuestions, to_seconds(answer.after), "seconds");
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const host::NameServersSeen servers = TRY(host.name_servers.ask(request.deadline - kSlack));
  Observed observed;
  observed.witnesses = {std::string(kResolvConf), std::string(kQuestions)};
  ObservationBuilder seen(request.now);
  seen.add(host_subject(), kConfigured, kResolvConf, servers.is_configured);
  for (const host::NameServerAnswer& answer : servers.answers)
    add_answer(answer, seen);
  observed.observations = seen.take();
  return observed;
}

struct Silence {
  NameServerOutcome outcome;
  std::string_view what;
  bool is_certain = false;  // proven by a reply: counts even if the server never answered before
};

constexpr std::array kSilences{
    Silence{NameServerOutcome::silent, "does not answer"},
    Silence{NameServerOutcome::closed, "refuses the connection: no program listens on port 53", true},
    Silence{NameServerOutcome::malformed, "sends malformed answers", true},
    Silence{NameServerOutcome::unreachable, "is unreachable: there is no route to it"},
};

// One name server and its history.
class Server {
 public:
  Server(const JudgeInput& input, const Observation& answer) : input_(input), subject_(answer.subject) {
    if (!answer.value) return;
    outcome_ = to_string(*answer.value);
    if (const Value* code = find_attribute(answer.attributes, "code")) code_ = to_string(*code);
  }

  [[nodiscard]] const std::string& address() const { return subject_.key; }
  [[nodiscard]] const std::string& outcome() const { return outcome_; }
  [[nodiscard]] bool was_asked() const { return !outcome_.empty(); }
  [[nodiscard]] bool is_silent() const { return silence_of(outcome_) != nullptr; }
  // Needs two runs: one lost packet is not a fault.
  [[nodiscard]] bool stays_silent() const { return is_silent() && in_last_two_runs(kAnswer, is_silence); }
  // True if it answers, or answered before and timed out only once.
  [[nodiscard]] bool is_available() const {
    return was_asked() && (!is_silent() || (has_ever_found() && !stays_silent()));
  }
  [[nodiscard]] bool is_certainly_silent() const { return is_silent() && silence_of(outcome_)->is_certain; }
  [[nodiscard]] bool has_ever_found() const {
    return input_.history.number(subject_, kEverFound).value_or(0) != 0;
  }

  [[nodiscard]] std::optional<Finding> finding(bool is_any_available) const {
    if (!was_asked())
      return make_finding(input_, subject_, "not_permitted", Health::unknown,
                          "permission to send to the name server " + address() + " is missing");
    if (is_silent()) return silent(is_any_available);
    // On an isolated network the root is never found, and that is not a fault. Nor is it unknown: the server
    // answers, so that an earlier finding about its silence ends.
    if (has_ever_found() && keeps_failing()) return failing();
    return slow();
  }

 private:
  static const Silence* silence_of(std::string_view outcome) {
    const auto* const found = std::ranges::find_if(
        kSilences, [&](const Silence& silence) { return to_string(silence.outcome) == outcome; });
    return found == kSilences.end() ? nullptr : found;
  }

  static bool is_silence(const Value& outcome) { return silence_of(to_string(outcome)) != nullptr; }

  // True if it holds in the last two runs, and both queried this server: the list may lack it for a while.
  [[nodiscard]] bool in_last_two_runs(std::string_view name,
                                      const std::function<bool(const Value&)>& holds) const {
    const auto rounds = input_.history.samples(host_subject(), kConfigured);
    const auto samples = input_.history.samples(subject_, name);
    if (rounds.size() < 2 || samples.size() < 2) return false;
    return std::ranges::equal(std::span(rounds).last(2), std::span(samples).last(2),
                              [&](const Sample& round, const Sample& sample) {
                                return round.time == sample.time && holds(sample.value);
                              });
  }
  // Answers, but resolved nothing in two runs.
  [[nodiscard]] bool keeps_failing() const {
    return in_last_two_runs(kFound, [](const Value& value) { return as_number(value) == 0; }) &&
           in_last_two_runs(kAnswer, std::not_fn(is_silence));
  }

  [[nodiscard]] Finding about(std::string_view reason, Health health, const std::string& what) const {
    std::string message = "the name server ";
    message.append(address()).append(" ").append(what);
    Finding finding = make_finding(input_, subject_, reason, health, std::move(message));
    finding.evidence = {{"outcome", outcome_}};
    if (!code_.empty()) finding.evidence.emplace_back("code", code_);
    return finding;
  }

  [[nodiscard]] std::optional<Finding> silent(bool is_any_available) const {
    // The kernel reports this at once, and the C library tries the next server.
    if (is_any_available && outcome_ == to_string(NameServerOutcome::unreachable)) return std::nullopt;
    std::string what(silence_of(outcome_)->what);
    if (stays_silent() && (has_ever_found() || is_certainly_silent()))
      return about("name_server_silent", Health::degraded, what);
    // Until the next run the earlier result remains.
    if (has_ever_found()) return std::nullopt;
    return about("name_server_unproven", Health::unknown,
                 what.append("; it has resolved nothing since the machine started"));
  }

  [[nodiscard]] Finding failing() const {
    return about("name_server_failing", Health::degraded,
                 outcome_ == to_string(NameServerOutcome::answered)
                     ? "answers " + code_
                     : "answers, but does not resolve names in time");
  }

  [[nodiscard]] std::optional<Finding> slow() const {
    std::vector<double> times;
    for (const Sample& sample : input_.history.samples(subject_, kSeconds))
      if (const auto seconds = as_number(sample.value)) times.push_back(*seconds);
    if (times.size() < kFewestAnswers) return std::nullopt;
    const double seconds = median(std::move(times));
    const Limit most = limit(input_, "network.dns.slow_seconds");
    if (seconds <= most.value) return std::nullopt;
    return make_finding(input_, subject_, "name_server_slow", Health::degraded,
                        "the name server " + address() + " takes " + rounded(seconds) +
                            " s to answer (limit " + rounded(most.value) + " s)",
                        seconds, most);
  }

  const JudgeInput& input_;
  Subject subject_;
  std::string outcome_;  // empty: it could not be queried
  std::string code_;
};

// A server that never answered may be healthy and behind a firewall, unless there is no route to it.
bool may_be_healthy(const Server& server) {
  return server.outcome() == to_string(NameServerOutcome::silent);
}

std::optional<Finding> all_silent(const JudgeInput& input, const std::vector<Server>& servers) {
  if (servers.empty() || !std::ranges::all_of(servers, &Server::stays_silent)) return std::nullopt;
  const bool is_change = std::ranges::any_of(servers, &Server::has_ever_found);
  const bool is_certain = std::ranges::any_of(servers, &Server::is_certainly_silent) &&
                          std::ranges::none_of(servers, may_be_healthy);
  if (!is_change && !is_certain) return std::nullopt;
  Finding finding = make_finding(
      input, host_subject(), "no_name_server", Health::degraded,
      servers.size() == 1 ? std::string("the only name server does not answer")
                          : "no name server answers (" + std::to_string(servers.size()) + " configured)");
  for (const Server& server : servers)
    finding.evidence.emplace_back(server.address(), server.outcome());
  return finding;
}

// No name server is configured, and none has ever answered on this machine: names are not resolved by DNS.
bool uses_no_dns(const JudgeInput& input, const std::vector<Server>& servers) {
  return input.history.number(host_subject(), kConfigured) == 0 &&
         std::ranges::all_of(
             servers, [](const Server& server) { return server.is_silent() && !server.has_ever_found(); });
}

Findings judge(const JudgeInput& input) {
  std::vector<Server> servers;
  for (const Observation& observation : input.history.latest())
    if (observation.name == kAnswer) servers.emplace_back(input, observation);
  if (uses_no_dns(input, servers))
    return {make_finding(input, host_subject(), "not_present", Health::unsupported,
                         "no name server is configured, and none answers on this machine")};
  Findings findings;
  // In addition to the findings about servers: the fault of one server does not end when the last one fails
  // too.
  if (auto finding = all_silent(input, servers)) findings.push_back(*std::move(finding));
  const bool is_any_available = std::ranges::any_of(servers, &Server::is_available);
  for (const Server& server : servers)
    if (auto finding = server.finding(is_any_available)) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace
}  // namespace network_dns

const Check kNetworkDns = {
    .info = {.id = "network.dns",
             .title = "Name servers",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{60},
             // As in catalog/checks.yaml; shorter than the C library waits for one server.
             .deadline = std::chrono::seconds{3},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(network_dns::kResolvConf), std::string(network_dns::kQuestions)},
             .rights = {},
             .needs_window = true,
             .baselines = {std::string(network_dns::kFound)}},
    .observe = network_dns::observe,
    .judge = network_dns::judge,
};

}  // namespace autopilot::checks
