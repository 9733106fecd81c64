// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/ping_helper.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/netlink/interfaces.hpp"
#include "nettest/echo/echo_exchange.hpp"
#include "nettest/echo/tcp_reach.hpp"

namespace autopilot::nettest {

namespace {

constexpr std::string_view kAsk = "ask";
// Time to send the results to the agent before the deadline.
constexpr Duration kToTell = std::chrono::milliseconds{200};

Result<std::string> answer_ask(std::string_view params, MonoTime deadline) {
  const EchoPlan plan = TRY(parse_echo_plan(params));
  return format_peer_echoes(TRY(ask_peers(plan, deadline - kToTell)));
}

EchoPlan part_of(const EchoPlan& plan, std::size_t first) {
  EchoPlan part = plan;
  const std::size_t end = std::min(plan.addresses.size(), first + EchoPlan::kMostAddresses);
  part.addresses.assign(plan.addresses.begin() + static_cast<std::ptrdiff_t>(first),
                        plan.addresses.begin() + static_cast<std::ptrdiff_t>(end));
  return part;
}

std::vector<PeerEcho> unasked(const EchoPlan& plan, const std::string& why) {
  std::vector<PeerEcho> echoes;
  for (const std::string& address : plan.addresses)
    echoes.push_back({.address = address, .way = EchoWay::none, .problem = why});
  return echoes;
}

}  // namespace

int run_ping_helper(int fd) {
  return host::serve(fd, {{std::string(kAsk), answer_ask}});
}

PingHelper::PingHelper(host::Command helper) : helper_("ping", std::move(helper)) {}

Result<std::vector<PeerEcho>> PingHelper::ask(const EchoPlan& plan, MonoTime deadline) {
  constexpr std::size_t kMost = EchoPlan::kMostAddresses;
  std::vector<PeerEcho> echoes;
  std::vector<Error> failures;
  const std::size_t parts = (plan.addresses.size() + kMost - 1) / kMost;
  for (std::size_t part = 0; part < parts; ++part) {
    const EchoPlan some = part_of(plan, part * kMost);
    const MonoTime now = host::mono_now();
    const auto left = static_cast<Duration::rep>(parts - part);
    auto answered = ask_some(some, now + (deadline - now) / left);
    if (!answered) failures.push_back(answered.error());
    std::ranges::move(answered ? *std::move(answered) : unasked(some, answered.error().what),
                      std::back_inserter(echoes));
  }
  helper_.rest();
  if (!failures.empty() && failures.size() == parts) return fail(std::move(failures.front()));
  return echoes;
}

Result<std::vector<PeerEcho>> PingHelper::ask_some(const EchoPlan& plan, MonoTime deadline) {
  auto answer = helper_.call(kAsk, format_echo_plan(plan), deadline);
  if (!answer) return fail(std::move(answer).error().error);
  auto echoes = TRY(parse_peer_echoes(*answer));
  const bool is_of_plan = std::ranges::equal(echoes, plan.addresses, {}, &PeerEcho::address);
  if (!is_of_plan) return fail(Errc::internal, "ping helper: it answers of other addresses");
  return echoes;
}

namespace {

// Usual MTUs of networks, in bytes, to which a path that is narrower than its interface is compared: the
// minimum of IPv6, tunnels, Ethernet, IPoIB of 2 and 4 KiB, jumbo frames with and without what a tunnel adds.
constexpr std::array<unsigned, 14> kPathSizes{576,  1280, 1400, 1420, 1450, 1480, 1492,
                                              1500, 2044, 4092, 8192, 8900, 8950, 9000};
constexpr unsigned kSizedEchoes = 3;

class Round {
 public:
  Round(const EchoPlan& plan, MonoTime deadline, EchoExchange exchange)
      : plan_(plan), deadline_(deadline), exchange_(std::move(exchange)) {}

  Result<std::vector<PeerEcho>> run() {
    TRY_STATUS(sort_out());
    ask(all(), plan_.echoes);
    ask(odd_ones(), plan_.closer);
    if (plan_.finds_path_mtu) find_path_mtus();
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      PeerEcho& echo = echoes_[places_[i]];
      echo.figures = targets_[i].tally.figures();
      echo.problem = targets_[i].problem;
    }
    if (!by_tcp_.empty())
      reach_by_tcp(by_tcp_, {.port = plan_.tcp_port,
                             .echoes = plan_.echoes,
                             .patience = plan_.patience,
                             .deadline = deadline_});
    return std::move(echoes_);
  }

 private:
  using Places = std::vector<std::size_t>;

  // Which address is asked how.
  Status sort_out() {
    const std::vector<host::OwnAddress> own = TRY(host::read_own_addresses());
    echoes_.resize(plan_.addresses.size());
    for (std::size_t i = 0; i < echoes_.size(); ++i) {
      PeerEcho& echo = echoes_[i];
      echo.address = plan_.addresses[i];
      const auto to = host::parse_internet_address(echo.address);
      if (!to) return fail(Errc::malformed, echo.address + ": not an IP address");
      note_interface(*to, own, echo);
      const Status& can = exchange_.can_ask(to->is_ipv6());
      if (can) {
        places_.push_back(i);
        targets_.push_back({.to = *to, .tally = {}, .sized = {}, .problem = {}});
      } else if (plan_.tcp_port != 0) {
        by_tcp_.push_back(&echo);
      } else {
        return fail(can.error());
      }
    }
    return {};
  }

  static void note_interface(const host::InternetAddress& to, const std::vector<host::OwnAddress>& own,
                             PeerEcho& echo) {
    const host::OwnWay way = host::own_way_towards(to, own);
    if (way.own == nullptr) return;
    echo.interface = way.own->interface;
    echo.interface_mtu = way.mtu;
  }

  [[nodiscard]] Places all() const {
    Places places(targets_.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = i;
    return places;
  }

  [[nodiscard]] Places odd_ones() const {
    Places places;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const EchoFigures figures = targets_[i].tally.figures();
      if (figures.answered < figures.sent || figures.duplicates > 0 || figures.out_of_order > 0)
        places.push_back(i);
    }
    return places;
  }

  [[nodiscard]] EchoExchange::Pace pace_of(std::size_t targets, bool is_sized) const {
    const Duration by_rate = Duration{std::chrono::seconds{1}} / plan_.per_second;
    // The first of a burst is sent later after the one before than the last of it.
    const Duration by_target = (kBetweenEchoes + EchoExchange::kBurst) / std::max<std::size_t>(1, targets);
    return {.gap = std::max(by_rate, by_target),
            .patience = plan_.patience,
            .deadline = deadline_,
            .is_sized = is_sized};
  }

  void ask(const Places& places, unsigned times) {
    std::vector<EchoQuestion> questions;
    for (unsigned n = 0; n < times; ++n)
      for (const std::size_t place : places)
        questions.push_back({place, kEchoPacket});
    if (!questions.empty()) exchange_.ask(targets_, questions, pace_of(places.size(), false));
  }

  // One answered packet of the MTU of the interface is enough. A path that loses small packets is not tested:
  // the largest answered packet would not be its MTU.
  void find_path_mtus() {
    Places wide;
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (targets_[i].tally.sent() > 0 && targets_[i].tally.is_all_answered() &&
          echo_of(i).interface_mtu > kEchoPacket)
        wide.push_back(i);
    std::vector<EchoQuestion> questions;
    for (const std::size_t place : wide)
      questions.push_back({place, largest(place)});
    if (!questions.empty()) exchange_.ask(targets_, questions, pace_of(wide.size(), true));
    std::erase_if(wide, [this](std::size_t place) { return targets_[place].sized.is_all_answered(); });
    if (!wide.empty()) narrow(wide);
  }

  // The largest of the usual sizes that passes; again the largest of all, which may have been lost before.
  void narrow(const Places& places) {
    std::map<std::size_t, std::vector<unsigned>> sizes;
    std::vector<EchoQuestion> questions;
    for (const std::size_t place : places)
      sizes[place] = sizes_below(largest(place));
    for (unsigned n = 0; n < kSizedEchoes; ++n)
      for (const std::size_t place : places)
        for (const unsigned size : sizes[place])
          questions.push_back({place, size});
    exchange_.ask(targets_, questions, pace_of(questions.size() / kSizedEchoes, true));
    for (const std::size_t place : places)
      note_path(place, sizes[place]);
  }

  // Nothing where the time was over before each size was asked.
  void note_path(std::size_t place, const std::vector<unsigned>& sizes) {
    if (targets_[place].sized.sent() < 1 + sizes.size()) return;
    unsigned passed = kEchoPacket;
    for (std::size_t n = 1; n < targets_[place].sized.sent(); ++n)
      if (targets_[place].sized.is_answered(static_cast<std::uint16_t>(n)))
        passed = std::max(passed, sizes[(n - 1) % sizes.size()]);
    if (passed < largest(place)) echo_of(place).path_mtu = passed;
  }

  [[nodiscard]] static std::vector<unsigned> sizes_below(unsigned largest) {
    std::vector<unsigned> sizes;
    for (const unsigned size : kPathSizes)
      if (size < largest) sizes.push_back(size);
    sizes.push_back(largest);
    return sizes;
  }

  [[nodiscard]] PeerEcho& echo_of(std::size_t place) { return echoes_[places_[place]]; }
  [[nodiscard]] unsigned largest(std::size_t place) {
    constexpr unsigned kLargest = 65535;
    return std::min(echo_of(place).interface_mtu, kLargest);
  }

  const EchoPlan& plan_;
  const MonoTime deadline_;
  EchoExchange exchange_;
  std::vector<PeerEcho> echoes_;
  std::vector<EchoTarget> targets_;  // by ICMP
  Places places_;                    // of each target, its echo
  std::vector<PeerEcho*> by_tcp_;
};

}  // namespace

Result<std::vector<PeerEcho>> ask_peers(const EchoPlan& plan, MonoTime deadline) {
  Round round(plan, deadline, TRY(EchoExchange::open()));
  return round.run();
}

}  // namespace autopilot::nettest
