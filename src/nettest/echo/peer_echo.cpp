// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/peer_echo.hpp"

#include <array>
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "host/netlink/internet_address.hpp"

namespace autopilot::nettest {
namespace {

namespace json = boost::json;

constexpr std::size_t kEchoDepth = 4;
constexpr std::size_t kMaxText = 64;
constexpr std::int64_t kLongestEcho = std::chrono::nanoseconds(std::chrono::hours{1}).count();
constexpr unsigned kLargestPacket = 65535 + 40;  // a payload of IPv6 and its header
constexpr unsigned kMostCounted = 1'000'000;
constexpr unsigned kMostPerSecond = 100'000;

constexpr std::array kWays{std::pair{EchoWay::icmp, std::string_view("icmp")},
                           std::pair{EchoWay::tcp, std::string_view("tcp")},
                           std::pair{EchoWay::none, std::string_view("none")}};

// The members of an object, read one by one; what is wrong with the first of them is remembered.
class Members {
 public:
  explicit Members(const json::value& value) : object_(value.if_object()) {
    if (object_ == nullptr) problem_ = "no object";
  }

  template <class T>
  void number(std::string_view name, T& to, std::int64_t most) {
    const json::value* const member = find(name);
    if (member == nullptr) return;
    json::error_code error;
    const auto number = member->to_number<std::int64_t>(error);
    if (error || number < 0 || number > most)
      refuse(name, "no number from 0 to " + std::to_string(most));
    else
      to = static_cast<T>(number);
  }
  void duration(std::string_view name, Duration& to) {
    std::int64_t nanoseconds = 0;
    number(name, nanoseconds, kLongestEcho);
    to = Duration{nanoseconds};
  }
  void flag(std::string_view name, bool& to) {
    const json::value* const member = find(name);
    if (member == nullptr) return;
    if (const bool* const flag = member->if_bool())
      to = *flag;
    else
      refuse(name, "neither true nor false");
  }
  void text(std::string_view name, std::string& to) {
    const json::value* const member = find(name);
    if (member == nullptr) return;
    const json::string* const text = member->if_string();
    if (text == nullptr || text->size() > kMaxText)
      refuse(name, "no text of at most " + std::to_string(kMaxText) + " bytes");
    else
      to = std::string(*text);
  }
  const json::array* list(std::string_view name, std::size_t most) {
    const json::value* const member = find(name);
    if (member == nullptr) return nullptr;
    const json::array* const list = member->if_array();
    if (list != nullptr && list->size() <= most) return list;
    refuse(name, "no list of at most " + std::to_string(most));
    return nullptr;
  }
  void refuse(std::string_view name, const std::string& what) {
    if (problem_.empty()) problem_ = std::string(name) + ": " + what;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json::value* find(std::string_view name) {
    if (object_ == nullptr) return nullptr;
    const json::value* const member = object_->if_contains(name);
    if (member == nullptr) refuse(name, "missing");
    return member;
  }

  const json::object* object_;
  std::string problem_;
};

Result<json::value> parse(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kEchoDepth;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return fail(Errc::malformed, "echoes: " + error.message());
  return value;
}

json::object object_of(const PeerEcho& echo) {
  const EchoFigures& figures = echo.figures;
  return {{"address", echo.address},
          {"way", to_string(echo.way)},
          {"sent", figures.sent},
          {"answered", figures.answered},
          {"duplicates", figures.duplicates},
          {"outOfOrder", figures.out_of_order},
          {"shortestNs", figures.shortest.count()},
          {"medianNs", figures.median.count()},
          {"p99Ns", figures.p99.count()},
          {"longestNs", figures.longest.count()},
          {"interface", echo.interface},
          {"interfaceMtu", echo.interface_mtu},
          {"pathMtu", echo.path_mtu},
          {"problem", echo.problem}};
}

Result<PeerEcho> echo_of(const json::value& value) {
  Members members(value);
  PeerEcho echo;
  std::string way;
  EchoFigures& figures = echo.figures;
  members.text("address", echo.address);
  members.text("way", way);
  members.number("sent", figures.sent, kMostCounted);
  members.number("answered", figures.answered, figures.sent);
  members.number("duplicates", figures.duplicates, kMostCounted);
  members.number("outOfOrder", figures.out_of_order, figures.answered);
  members.duration("shortestNs", figures.shortest);
  members.duration("medianNs", figures.median);
  members.duration("p99Ns", figures.p99);
  members.duration("longestNs", figures.longest);
  members.text("interface", echo.interface);
  members.number("interfaceMtu", echo.interface_mtu, std::numeric_limits<int>::max());
  members.number("pathMtu", echo.path_mtu, kLargestPacket);
  members.text("problem", echo.problem);
  if (const auto known = parse_echo_way(way))
    echo.way = *known;
  else
    members.refuse("way", "neither icmp, tcp nor none");
  if (!members.problem().empty()) return fail(Errc::malformed, "echoes: " + members.problem());
  return echo;
}

}  // namespace

std::string_view to_string(EchoWay way) {
  return kWays.at(static_cast<std::size_t>(way)).second;
}

std::optional<EchoWay> parse_echo_way(std::string_view word) {
  for (const auto& [way, name] : kWays)
    if (name == word) return way;
  return std::nullopt;
}

std::string format_echo_plan(const EchoPlan& plan) {
  json::array addresses;
  for (const std::string& address : plan.addresses)
    addresses.emplace_back(address);
  return json::serialize(json::object{{"addresses", std::move(addresses)},
                                      {"echoes", plan.echoes},
                                      {"closer", plan.closer},
                                      {"patienceNs", plan.patience.count()},
                                      {"perSecond", plan.per_second},
                                      {"findsPathMtu", plan.finds_path_mtu},
                                      {"tcpPort", plan.tcp_port}});
}

Result<EchoPlan> parse_echo_plan(std::string_view text) {
  const json::value value = TRY(parse(text));
  Members members(value);
  EchoPlan plan;
  const json::array* const addresses = members.list("addresses", EchoPlan::kMostAddresses);
  if (addresses != nullptr)
    for (const json::value& item : *addresses) {
      const json::string* const address = item.if_string();
      if (address != nullptr && host::parse_internet_address(std::string(*address)))
        plan.addresses.emplace_back(*address);
      else
        members.refuse("addresses", "an item is not an IP address");
    }
  members.number("echoes", plan.echoes, EchoPlan::kMostEchoes);
  members.number("closer", plan.closer, EchoPlan::kMostEchoes);
  members.duration("patienceNs", plan.patience);
  members.number("perSecond", plan.per_second, kMostPerSecond);
  members.flag("findsPathMtu", plan.finds_path_mtu);
  members.number("tcpPort", plan.tcp_port, std::numeric_limits<std::uint16_t>::max());
  if (plan.echoes == 0) members.refuse("echoes", "none");
  if (plan.per_second == 0) members.refuse("perSecond", "none");
  if (!members.problem().empty()) return fail(Errc::malformed, "echoes: " + members.problem());
  return plan;
}

std::string format_peer_echoes(const std::vector<PeerEcho>& echoes) {
  json::array list;
  for (const PeerEcho& echo : echoes)
    list.push_back(object_of(echo));
  return json::serialize(json::object{{"echoes", std::move(list)}});
}

Result<std::vector<PeerEcho>> parse_peer_echoes(std::string_view text) {
  const json::value value = TRY(parse(text));
  Members members(value);
  const json::array* const list = members.list("echoes", EchoPlan::kMostAddresses);
  if (list == nullptr) return fail(Errc::malformed, "echoes: " + members.problem());
  std::vector<PeerEcho> echoes;
  for (const json::value& item : *list)
    echoes.push_back(TRY(echo_of(item)));
  return echoes;
}

}  // namespace autopilot::nettest
