// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_observations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "nettest/run/observation_writer.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::string_view kNoWay = "no_way";
constexpr std::string_view kNotAsked = "not_asked";  // though there is one

// A path is late if its latency is this many times the median of the paths of the same interface.
constexpr int kLate = 4;

// A path between two interfaces with an answer and an abnormal result. Connections give no evidence: the
// kernel repeats a lost connection attempt, or gives it up for another reason.
bool is_odd(const PeerEcho& echo) {
  const EchoFigures& figures = echo.figures;
  return echo.way == EchoWay::icmp && figures.answered > 0 &&
         (figures.answered < figures.sent || figures.duplicates > 0 || figures.out_of_order > 0 ||
          echo.path_mtu > 0);
}

// The address was asked and gave no answer, or this node lost its path to it. An address that could not be
// asked is not silent; an address in a network, or of a family, that this node does not have is not either.
bool is_silent(const PeerEcho& echo) {
  return echo.figures.answered == 0 && !echo.interface.empty() &&
         (echo.figures.sent > 0 || !echo.problem.empty());
}

bool was_asked(const PeerEcho& echo) {
  return echo.figures.answered > 0 || is_silent(echo);
}

double share(unsigned part, unsigned whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / whole;
}

// What an interface of this node asked in one family.
struct Way {
  unsigned asked = 0;
  std::set<std::size_t> nodes;
  unsigned silent = 0;
  std::vector<Duration> medians;
  Duration longest{0};

  [[nodiscard]] Duration quantile(std::size_t percent) {
    if (medians.empty()) return Duration{0};
    std::ranges::sort(medians);
    return medians[(medians.size() - 1) * percent / 100];
  }
};
using Ways = std::map<std::pair<std::string, bool>, Way>;  // by interface, and whether it is IPv6

Ways ways_of(const PingRound& round) {
  Ways ways;
  for (std::size_t i = 0; i < round.echoes.size(); ++i) {
    const PeerEcho& echo = round.echoes[i];
    if (echo.interface.empty()) continue;
    Way& way = ways[{echo.interface, api::is_ipv6(echo.address)}];
    if (!was_asked(echo)) continue;
    ++way.asked;
    way.nodes.insert(round.addresses[i].peer);
    if (is_silent(echo)) ++way.silent;
    if (echo.figures.answered > 0) way.medians.push_back(echo.figures.median);
    way.longest = std::max(way.longest, echo.figures.longest);
  }
  return ways;
}

void append_word(std::string& text, const std::string& word) {
  if (!text.empty()) text += ' ';
  text += word;
}

// Two addresses of one interface have names of their own.
std::string shown_name(const PingRound& round, std::size_t place) {
  const PingAddress& shown = round.addresses[place];
  std::size_t same = 0;
  std::size_t index = 0;
  for (std::size_t i = 0; i < round.addresses.size(); ++i) {
    const PingAddress& other = round.addresses[i];
    if (other.peer != shown.peer || other.interface != shown.interface) continue;
    if (i < place) ++index;
    ++same;
  }
  return same > 1 ? shown.interface + "-" + std::to_string(index) : shown.interface;
}

void add_node(const PingRound& round, std::size_t peer, ObservationWriter& writer) {
  std::string addresses;
  std::string silent;
  std::string through;
  std::string problem;
  std::string way;
  std::string unasked;
  std::string why;
  bool has_way = false;
  std::size_t asked = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < round.addresses.size(); ++i) {
    if (round.addresses[i].peer != peer) continue;
    const PeerEcho& echo = round.echoes[i];
    const std::string name = shown_name(round, i);
    append_word(addresses, name + "=" + echo.address);
    if (echo.way == EchoWay::tcp) way = to_string(echo.way);
    has_way = has_way || !echo.interface.empty() || echo.way == EchoWay::none;
    if (was_asked(echo))
      ++asked;
    else
      append_word(unasked, name);
    if (echo.way == EchoWay::none) why = ": " + echo.problem;
    if (!is_silent(echo)) continue;
    ++count;
    append_word(silent, name);
    append_word(through, echo.interface.empty() ? "none" : echo.interface);
    if (problem.empty()) problem = echo.problem;
  }
  const PeerNetwork& network = round.networks[peer];
  Observation& told = writer.add(subject_of(SubjectKind::peer, network.peer.node), "ping.silent",
                                 static_cast<std::int64_t>(count), "count");
  told.attributes.emplace_back("addresses", addresses);
  if (!unasked.empty()) told.attributes.emplace_back("unasked", unasked);
  if (asked == 0) {
    const std::string what = has_way ? "this node could not ask " : "this node has no path to ";
    told.value.reset();
    told.missing = has_way ? kNotAsked : kNoWay;
    told.attributes.emplace_back("error", what + network.peer.node + " at " + addresses + why);
  }
  if (count > 0) told.attributes.emplace_back("silent", silent);
  if (count > 0) told.attributes.emplace_back("through", through);
  if (!problem.empty()) told.attributes.emplace_back("problem", problem);
  if (!way.empty()) told.attributes.emplace_back("way", way);
  if (!network.problem.empty()) told.attributes.emplace_back("agent", network.problem);
}

void add_interface(const std::string& interface, bool is_ipv6, Way way, ObservationWriter& writer) {
  const Subject subject = subject_of(SubjectKind::nic_port, interface);
  const std::string end = is_ipv6 ? ".ipv6" : ".ipv4";
  writer.add_count(subject, "ping.asked" + end, way.asked);
  writer.add_count(subject, "ping.asked_nodes" + end, way.nodes.size());
  writer.add_count(subject, "ping.unanswered" + end, way.silent);
  if (way.medians.empty()) return;
  writer.add_seconds(subject, "ping.latency_median" + end, way.quantile(50));
  writer.add_seconds(subject, "ping.latency_p99" + end, way.quantile(99));
  writer.add_seconds(subject, "ping.latency_longest" + end, way.longest);
}

// median: of the paths of that interface.
void add_link(const PingRound& round, std::size_t place, Duration median, ObservationWriter& writer) {
  const PeerEcho& echo = round.echoes[place];
  const EchoFigures& figures = echo.figures;
  const std::string& node = round.networks[round.addresses[place].peer].peer.node;
  const Subject subject = subject_of(
      SubjectKind::link, round.node + "/" + echo.interface + "|" + node + "/" + shown_name(round, place));
  Observation& loss =
      writer.add(subject, "ping.loss", share(figures.sent - figures.answered, figures.sent), "ratio");
  loss.attributes = {{"interface", echo.interface},
                     {"node", node},
                     {"address", echo.address},
                     {"sent", static_cast<std::int64_t>(figures.sent)},
                     {"answered", static_cast<std::int64_t>(figures.answered)}};
  writer.add(subject, "ping.duplicates", share(figures.duplicates, figures.answered), "ratio");
  writer.add(subject, "ping.out_of_order", share(figures.out_of_order, figures.answered), "ratio");
  writer.add_seconds(subject, "ping.latency", figures.median);
  writer.add_seconds(subject, "ping.latency_of_others", median);
  writer.add_count(subject, "ping.interface_mtu", echo.interface_mtu);
  writer.add_count(subject, "ping.path_mtu", echo.path_mtu > 0 ? echo.path_mtu : echo.interface_mtu);
}

}  // namespace

std::vector<PingAddress> ping_addresses(const std::vector<PeerNetwork>& networks) {
  std::vector<PingAddress> addresses;
  for (std::size_t peer = 0; peer < networks.size(); ++peer)
    for (const api::NetworkAddress& one : networks[peer].network.addresses)
      addresses.push_back({peer, one.interface, one.address});
  return addresses;
}

Observations ping_observations(const PingRound& round) {
  ObservationWriter writer(round.ended);
  Observation& outcome = writer.add(host_subject(), "ping.outcome", std::string("ended"), "");
  if (!round.pod.empty()) outcome.attributes.emplace_back("pod", round.pod);
  outcome.attributes.emplace_back("others", static_cast<std::int64_t>(round.others));
  for (std::size_t peer = 0; peer < round.networks.size(); ++peer)
    add_node(round, peer, writer);
  Ways ways = ways_of(round);
  for (const auto& [of, way] : ways)
    add_interface(of.first, of.second, way, writer);
  for (std::size_t i = 0; i < round.echoes.size(); ++i) {
    const PeerEcho& echo = round.echoes[i];
    if (echo.interface.empty() || echo.figures.answered == 0 || echo.way == EchoWay::tcp) continue;
    const Duration median = ways.at({echo.interface, api::is_ipv6(echo.address)}).quantile(50);
    if (is_odd(echo) || echo.figures.median > median * kLate) add_link(round, i, median, writer);
  }
  return writer.take();
}

Observations no_ping_targets(const std::string& pod, Instant now) {
  ObservationWriter writer(now);
  Observation& outcome = writer.add(host_subject(), "ping.outcome", std::string("no_targets"), "");
  if (!pod.empty()) outcome.attributes.emplace_back("pod", pod);
  return writer.take();
}

std::vector<std::string> nodes_to_ask_again(const PingRound& round) {
  std::set<std::string> nodes;
  for (std::size_t i = 0; i < round.echoes.size(); ++i)
    if (is_silent(round.echoes[i]) || is_odd(round.echoes[i]))
      nodes.insert(round.networks[round.addresses[i].peer].peer.node);
  return {nodes.begin(), nodes.end()};
}

std::map<std::string, PingCount> ping_counts(const Observations& observations) {
  std::map<std::string, PingCount> counts;
  for (const Observation& one : observations) {
    if (one.subject.kind != SubjectKind::nic_port) continue;
    PingCount& of_interface = counts[one.subject.key];
    const double count = one.value ? as_number(*one.value).value_or(0) : 0;
    if (one.name.text().starts_with("ping.asked.")) of_interface.asked += count;
    if (one.name.text().starts_with("ping.unanswered.")) of_interface.unanswered += count;
  }
  return counts;
}

std::string ping_sentence(const PingRound& round) {
  std::set<std::size_t> silent;
  std::set<std::size_t> asked_nodes;
  for (std::size_t i = 0; i < round.echoes.size(); ++i) {
    if (is_silent(round.echoes[i])) silent.insert(round.addresses[i].peer);
    if (was_asked(round.echoes[i])) asked_nodes.insert(round.addresses[i].peer);
  }
  const auto counted = [](std::size_t count, const std::string& one, const std::string& several) {
    return std::to_string(count) + " " + (count == 1 ? one : several);
  };
  const std::size_t unasked = round.networks.size() - asked_nodes.size();
  std::string said = counted(round.networks.size(), "node", "nodes") + " asked at " +
                     counted(round.addresses.size(), "address", "addresses") + ": ";
  if (unasked > 0) said += counted(unasked, "node", "nodes") + " could not be asked, ";
  if (silent.empty()) return said + (unasked > 0 ? "the others answer" : "all answer");
  return said + counted(silent.size(), "node does", "nodes do") + " not answer at some of them";
}

}  // namespace autopilot::nettest
