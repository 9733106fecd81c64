// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "fleet/peers.hpp"
#include "host/diagnostic_results/results.hpp"
#include "net/event_loop.hpp"
#include "nettest/echo/peer_echo.hpp"
#include "nettest/plan/schedules.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/ping_observations.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Times of the rounds of this node: one round in each turn of the wall clock; all turns have the same length,
// and the same number on all nodes. Each node begins its rounds at its own place in a turn, a little early or
// late each time. The clock may be set: a skipped turn is not made up for, and a turn that comes again after
// a step back of less than two lengths gets no second round. Pure.
class PingTurns {
 public:
  // place: of this node, in [0, 1).
  explicit PingTurns(double place) : place_(place) {}

  [[nodiscard]] static std::uint64_t number_at(WallTime now, Duration length);
  // No round has begun in the current turn.
  [[nodiscard]] bool is_open(WallTime now, Duration length) const;
  void note_round(WallTime now, Duration length);
  // To the beginning of the next round: in this turn where it is open, also where its place has passed.
  // jitter: in [0, 1).
  [[nodiscard]] Duration until_next(WallTime now, Duration length, double jitter) const;

 private:
  struct Turn {
    std::int64_t number = 0;
    Duration length{};
  };

  [[nodiscard]] static Turn turn_at(WallTime now, Duration length);
  [[nodiscard]] bool is_new(const Turn& turn) const;

  double place_;
  std::optional<Turn> last_;  // in which a round was made
};

struct PingSettings {
  Duration every{0};      // 0: only on request
  bool asks_all = false;  // all other nodes in each round, however many there are
  unsigned echoes = 5;    // to each address
};

// Pings the nodes of other agents, and puts the observations on the board under "network.ping". In a large
// cluster each round asks a few nodes, which the clock chooses: the choices of all agents together ask each
// node equally often and cover all pairs in turn, if each agent makes one round in each turn of the clock. A
// node with an abnormal result is asked again in the next round. If the list of agents cannot be read, the
// last list counts. On the loop's thread.
class PingTester {
 public:
  static constexpr Duration kLongestRound = std::chrono::seconds{20};
  static constexpr std::size_t kMostAskedAgain = 16;  // nodes

  struct Doors {
    // All agents there are, this one among them.
    std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
    // Blocks, on another thread, and may outlive this.
    std::function<Result<std::vector<PeerEcho>>(const EchoPlan& plan)> ask;
    // Runs it on a thread that may block; false: there is no room.
    std::function<bool(std::function<void()> task)> submit;
    // The board has something new.
    std::function<void()> look;
  };

  // settings: called before each round, because a configuration may change. random: returns [0, 1), so that
  // the agents do not all ask at once.
  PingTester(net::EventLoop& loop, const Clock& clock, AddressBook& book, std::string node, std::string pod,
             std::function<PingSettings()> settings, Doors doors, std::function<double()> random,
             std::shared_ptr<host::TestBoard> board);
  PingTester(const PingTester&) = delete;
  PingTester& operator=(const PingTester&) = delete;
  ~PingTester() = default;

  // Begins periodic rounds, if the settings have an interval.
  void start();
  // Call it when the settings may have changed.
  void note_settings();
  // A round that begins after this call, of the nodes that are reserved for it; without these, the round of
  // the current turn. conflict: a caller waits for a round already. malformed: a subject is not a node.
  [[nodiscard]] Status test_now(diagnostics::OwnTest::Calls calls);
  // The nodes among these whose agents are known; all of them while no agent is known.
  [[nodiscard]] std::vector<Subject> with_agents(std::vector<Subject> nodes) const;
  // Drops the callbacks of test_now(); the round continues.
  void forget_asked() { asked_.reset(); }

 private:
  void plan_next();
  void begin_next();
  void begin_round();
  void take_peers(const Result<std::vector<fleet::Peer>>& peers);
  [[nodiscard]] Result<std::vector<fleet::Peer>> choose() const;
  void ask(std::vector<PeerNetwork> networks);
  void take_echoes(Result<std::vector<PeerEcho>> echoes);
  void end_round(const Result<std::string>& said);
  [[nodiscard]] Duration length_of_turn() const;
  [[nodiscard]] bool asks_named_nodes() const;

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::string node_;
  const std::string pod_;
  const std::function<PingSettings()> settings_;
  const Doors doors_;
  const std::function<double()> random_;
  const std::shared_ptr<host::TestBoard> board_;
  AddressBook& book_;
  std::vector<fleet::Peer> peers_;  // of the last list
  PingTurns turns_;
  PingRound round_;  // the running round
  std::uint64_t number_of_round_ = 0;
  bool is_under_way_ = false;
  bool is_started_ = false;
  bool begins_anew_ = false;     // the running round began before test_now() was called
  std::set<std::string> again_;  // nodes with an abnormal result
  std::optional<diagnostics::OwnTest::Calls> asked_;
  net::Subscription next_;
  WayBack way_back_;
};

struct PingChoice {
  // Up to this number of nodes each node asks all others; of more it asks a choice.
  static constexpr std::size_t kAskAll = ContactRounds::kMostForFullMesh;
  static constexpr std::size_t kPerRound = 16;

  bool asks_all = false;
  std::uint64_t round = 0;      // the same on all nodes
  std::set<std::string> again;  // nodes that are asked in any case
};

// The agents whose nodes this node asks, in order of their names, without its own. Where they are a choice,
// every node is asked by kPerRound others in each round, and all pairs meet within (n - 1) / kPerRound
// rounds, rounded up. Pure.
[[nodiscard]] std::vector<fleet::Peer> peers_to_ping(std::vector<fleet::Peer> peers, const std::string& self,
                                                     const PingChoice& choice);

}  // namespace autopilot::nettest
