// SPDX-License-Identifier: Apache-2.0

#include "nettest/run/ping_tester.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "core/observation.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The time of day is the test's at its beginning, and goes on from there.
class DayClock : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const MonoTime mono = system_.now().mono;
    return {WallTime{day + (mono - begin_)}, mono};
  }
  Duration day = std::chrono::hours{24 * 20000};

 private:
  host::SystemClock system_;
  MonoTime begin_ = system_.now().mono;
};

Subject node_named(const std::string& name, SubjectKind kind = SubjectKind::peer) {
  Subject node;
  node.kind = kind;
  node.key = name;
  return node;
}

// This node "here", an agent "there" that reports the addresses of its node, and an agent "dead" that does
// not answer.
class PingTesterTest : public ::testing::Test {
 protected:
  PingTesterTest() {
    server_.route("GET", "/v1/network", [this](const net::HttpRequest&, net::Responder responder) {
      ++pages_;
      responder.respond(net::HttpResponse{
          .body =
              R"({"node":")" + name_there_ +
              R"(","addresses":[{"interface":"eth0","address":"10.1.0.7"},{"interface":"net1","address":"10.2.0.7"}]})"});
    });
    const std::uint16_t port = server_.listen_tcp("127.0.0.1:0").value();
    peers_ = std::vector<fleet::Peer>{
        {"dead", "127.0.0.1", 1}, {"here", "127.0.0.1", 1}, {"there", "127.0.0.1", port}};
  }
  void begin() {
    tester_ = std::make_unique<PingTester>(
        loop_, clock_, book_, "here", "autopilot-x1", [this] { return settings_; },
        PingTester::Doors{.peers =
                              [this](const auto& done) {
                                if (take_peers_) return take_peers_(done);
                                done(peers_);
                              },
                          .ask = [this](const EchoPlan& plan) -> Result<std::vector<PeerEcho>> {
                            plans_.push_back(plan);
                            if (failure_) return fail(*failure_);
                            return answers_to(plan);
                          },
                          .submit =
                              [this](std::function<void()> task) {
                                if (has_room_) tasks_.push_back(std::move(task));
                                return has_room_;
                              },
                          .look = [this] { ++looks_; }},
        [] { return 0.0; }, board_);
  }
  [[nodiscard]] std::vector<PeerEcho> answers_to(const EchoPlan& plan) const {
    std::vector<PeerEcho> echoes;
    for (const std::string& address : plan.addresses) {
      PeerEcho echo{.address = address, .interface = "eth0", .interface_mtu = 1500};
      echo.figures = {.sent = 5, .answered = silent_.contains(address) ? 0U : 5U};
      echoes.push_back(std::move(echo));
    }
    return echoes;
  }
  Status test_now(const std::vector<Subject>& nodes = {}) {
    return tester_->test_now({.on_progress = [this](std::string message) { progress_ = std::move(message); },
                              .on_end = [this](Result<std::string> said) { said_ = std::move(said); },
                              .reservation = nodes});
  }
  // The other thread, which blocks: here it is this one.
  bool run_task() {
    if (!run_until([this] { return !tasks_.empty(); })) return false;
    const auto tasks = std::exchange(tasks_, {});
    for (const auto& task : tasks)
      task();
    return true;
  }
  // A requested round, to its end.
  bool run_round() {
    said_.reset();
    return test_now().has_value() && run_task() && run_until([this] { return said_.has_value(); });
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] Observations found() const { return board_->last(kPingCheck).value_or(Observations{}); }

  net::EventLoop loop_;
  DayClock clock_;
  net::HttpServer server_{loop_, {}};
  std::string name_there_ = "there";
  int pages_ = 0;
  Result<std::vector<fleet::Peer>> peers_;
  std::function<void(const std::function<void(const Result<std::vector<fleet::Peer>>&)>& done)> take_peers_;
  PingSettings settings_;
  std::set<std::string> silent_;
  std::optional<Error> failure_;
  bool has_room_ = true;
  std::vector<EchoPlan> plans_;
  std::vector<std::function<void()>> tasks_;
  int looks_ = 0;
  std::string progress_;
  std::optional<Result<std::string>> said_;
  std::shared_ptr<host::TestBoard> board_ = std::make_shared<host::TestBoard>();
  AddressBook book_{loop_, clock_, {}};
  std::unique_ptr<PingTester> tester_;
};

TEST_F(PingTesterTest, asks_where_the_agents_say_and_a_dead_one_where_it_is_known) {
  begin();
  ASSERT_TRUE(run_round());
  ASSERT_EQ(plans_.size(), 1U);
  EXPECT_THAT(plans_[0].addresses, ElementsAre("127.0.0.1", "10.1.0.7", "10.2.0.7"));
  EXPECT_EQ(**said_, "2 nodes asked at 3 addresses: all answer");
  EXPECT_EQ(progress_, "3 addresses are asked");
  EXPECT_EQ(looks_, 1);
  ASSERT_FALSE(found().empty());
  EXPECT_EQ(found()[1].subject.key, "dead");
  EXPECT_EQ(attribute_text(found()[1], "addresses"), "default=127.0.0.1");
  EXPECT_THAT(attribute_text(found()[1], "agent"), HasSubstr("127.0.0.1:1"));
}

TEST_F(PingTesterTest, nodes_without_an_agent_are_distinguished_from_the_others) {
  begin();
  EXPECT_THAT(tester_->with_agents({node_named("unlisted"), node_named("dead")}),
              ElementsAre(node_named("unlisted"), node_named("dead")));
  ASSERT_TRUE(run_round());
  EXPECT_THAT(tester_->with_agents({node_named("unlisted"), node_named("dead")}),
              ElementsAre(node_named("dead")));
}

TEST_F(PingTesterTest, the_answer_of_an_agent_counts_until_its_address_changes) {
  begin();
  ASSERT_TRUE(run_round());
  ASSERT_TRUE(run_round());
  EXPECT_EQ(pages_, 1);
  peers_->at(2).address = "127.0.0.2";
  ASSERT_TRUE(run_round());
  EXPECT_EQ(plans_[2].addresses.back(), "127.0.0.2")
      << "no program listens there: it is asked at the listed address";
}

// A cluster that gives an address to another pod may list the old node there for a while.
TEST_F(PingTesterTest, an_agent_of_another_node_is_not_believed) {
  name_there_ = "elsewhere";
  begin();
  ASSERT_TRUE(run_round());
  EXPECT_THAT(plans_[0].addresses, ElementsAre("127.0.0.1", "127.0.0.1"));
  EXPECT_EQ(attribute_text(found()[2], "agent"), "the agent at this address belongs to node elsewhere");
}

TEST_F(PingTesterTest, a_node_alone_has_nothing_to_ask) {
  peers_ = std::vector<fleet::Peer>{{"here", "127.0.0.1", 1}};
  begin();
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_EQ(**said_, "there is no other node to ask");
  EXPECT_EQ(autopilot::to_string(*found().at(0).value), "no_targets");
  EXPECT_EQ(looks_, 1);
}

TEST_F(PingTesterTest, the_reason_of_a_failed_round_is_on_the_board) {
  failure_ = Error{Errc::denied, "no right to ask"};
  begin();
  ASSERT_TRUE(run_round());
  ASSERT_FALSE(*said_);
  EXPECT_EQ(said_->error().code, Errc::denied);
  EXPECT_EQ(board_->last(kPingCheck).error().what, "no right to ask");
  EXPECT_EQ(looks_, 1);
}

TEST_F(PingTesterTest, without_any_list_of_agents_nothing_is_asked) {
  peers_ = fail(Errc::unavailable, "the server does not answer");
  begin();
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_EQ(board_->last(kPingCheck).error().what, "the server does not answer");
}

TEST_F(PingTesterTest, a_round_that_never_comes_back_keeps_none_from_being_refused) {
  has_room_ = false;
  begin();
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_EQ(said_->error().code, Errc::exhausted);
}

TEST_F(PingTesterTest, a_request_during_a_round_gets_a_round_that_begins_after_it) {
  settings_.every = 1ms;
  begin();
  ASSERT_TRUE(run_round());
  ASSERT_TRUE(run_until([this] { return !tasks_.empty(); })) << "one of its own accord";
  said_.reset();
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_task());
  const auto before = plans_.size();
  ASSERT_TRUE(run_task());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  EXPECT_EQ(plans_.size(), before + 1);
}

TEST_F(PingTesterTest, two_do_not_wait_for_the_same) {
  begin();
  ASSERT_TRUE(test_now());
  const auto second = test_now();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
}

TEST_F(PingTesterTest, rounds_go_on_of_their_own_accord_and_end_when_they_are_not_wanted) {
  settings_.every = 1ms;
  begin();
  tester_->note_settings();
  EXPECT_TRUE(tasks_.empty()) << "not before it is started";
  ASSERT_TRUE(test_now());
  for (int round = 0; round < 3; ++round)
    ASSERT_TRUE(run_task());
  EXPECT_EQ(plans_.size(), 3U);
  settings_.every = 0s;
  ASSERT_TRUE(run_until([this] { return looks_ >= 3; }));
  tester_->note_settings();
  if (!tasks_.empty()) {
    ASSERT_TRUE(run_task());
  }
  const auto rounds = plans_.size();
  ASSERT_TRUE(run_round());
  EXPECT_EQ(plans_.size(), rounds + 1);
}

TEST_F(PingTesterTest, of_many_nodes_a_silent_one_is_asked_until_it_answers) {
  peers_->clear();
  for (int n = 100; n < 300; ++n)
    peers_->push_back({"node-" + std::to_string(n), "10.1.1." + std::to_string(n - 100), 0, false, true});
  peers_->push_back({"here", "127.0.0.1", 1});
  settings_.every = 1h;
  begin();
  ASSERT_TRUE(run_round());
  ASSERT_EQ(plans_[0].addresses.size(), PingChoice::kPerRound);
  const std::set<std::string> first(plans_[0].addresses.begin(), plans_[0].addresses.end());
  silent_ = {plans_[0].addresses[3]};
  ASSERT_TRUE(run_round());
  clock_.day += 1h;
  ASSERT_TRUE(run_round());
  EXPECT_THAT(plans_[2].addresses, ::testing::Contains(*silent_.begin()));
  EXPECT_EQ(plans_[2].addresses.size(), PingChoice::kPerRound + 1);
  silent_.clear();
  ASSERT_TRUE(run_round());
  clock_.day += 1h;
  ASSERT_TRUE(run_round());
  EXPECT_EQ(plans_[4].addresses.size(), PingChoice::kPerRound);
}

// A hundred nodes ask sixteen each, other ones in each turn.
class PingTurnsOfManyTest : public PingTesterTest {
 protected:
  PingTurnsOfManyTest() {
    peers_->clear();
    for (int n = 100; n < 200; ++n)
      peers_->push_back({"node-" + std::to_string(n), "10.1.1." + std::to_string(n - 100), 0, false, true});
    peers_->push_back({"here", "127.0.0.1", 1});
    settings_.every = 1h;
    begin();
  }
  [[nodiscard]] std::vector<std::string> addresses_in_turn(Duration since_day) const {
    const auto number = PingTurns::number_at(WallTime{std::chrono::hours{24 * 20000} + since_day}, 1h);
    std::vector<std::string> addresses;
    for (const fleet::Peer& peer : peers_to_ping(*peers_, "here", {.round = number}))
      addresses.push_back(peer.address);
    return addresses;
  }
};

TEST_F(PingTurnsOfManyTest, those_are_asked_whose_turn_it_was_when_the_round_began) {
  std::function<void(const Result<std::vector<fleet::Peer>>&)> tell;
  take_peers_ = [&tell](const auto& done) { tell = done; };
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_until([&tell] { return tell != nullptr; }));
  clock_.day += 1h;
  tell(peers_);
  ASSERT_TRUE(run_task());
  EXPECT_EQ(plans_[0].addresses, addresses_in_turn(0h));
  EXPECT_NE(plans_[0].addresses, addresses_in_turn(1h));
}

TEST_F(PingTurnsOfManyTest, no_turn_is_asked_twice_after_a_requested_round) {
  ASSERT_TRUE(run_round());
  tester_->note_settings();
  tester_->start();
  tester_->note_settings();
  bool is_over = false;
  const auto timer = loop_.after(20ms, [&is_over] { is_over = true; });
  ASSERT_TRUE(run_until([&is_over] { return is_over; }));
  EXPECT_TRUE(tasks_.empty()) << "that of this turn is made";
  clock_.day += 1h;
  tester_->note_settings();
  ASSERT_TRUE(run_task());
  EXPECT_EQ(plans_.back().addresses, addresses_in_turn(1h));
}

TEST_F(PingTurnsOfManyTest, a_round_of_named_nodes_is_none_of_the_turn) {
  ASSERT_TRUE(test_now({node_named("node-100")}));
  ASSERT_TRUE(run_task());
  tester_->start();
  tester_->note_settings();
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  tester_->note_settings();
  ASSERT_TRUE(run_task());
  EXPECT_EQ(plans_.back().addresses, addresses_in_turn(0h));
}

// A result that arrives after the end of the tester has no effect.
TEST_F(PingTesterTest, may_end_in_the_middle_of_a_round) {
  begin();
  ASSERT_TRUE(test_now());
  ASSERT_TRUE(run_until([this] { return !tasks_.empty(); }));
  tester_.reset();
  const auto tasks = std::exchange(tasks_, {});
  for (const auto& task : tasks)
    task();
  bool is_over = false;
  loop_.post([&is_over] { is_over = true; });
  ASSERT_TRUE(run_until([&is_over] { return is_over; }));
  EXPECT_FALSE(said_);
}

TEST_F(PingTesterTest, while_the_list_of_agents_is_unavailable_the_agents_of_the_last_list_are_asked) {
  begin();
  ASSERT_TRUE(run_round());
  peers_ = fail(Errc::unavailable, "the server does not answer");
  ASSERT_TRUE(run_round());
  EXPECT_TRUE(*said_) << said_->error().what;
  EXPECT_EQ(plans_.size(), 2U);
  EXPECT_EQ(plans_[0].addresses, plans_[1].addresses);
}

TEST_F(PingTesterTest, the_nodes_to_ask_can_be_named) {
  begin();
  ASSERT_TRUE(test_now({node_named("there"), node_named("here")}));
  ASSERT_TRUE(run_task());
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_EQ(plans_.size(), 1U);
  EXPECT_THAT(plans_[0].addresses, ElementsAre("10.1.0.7", "10.2.0.7"));
}

TEST_F(PingTesterTest, a_subject_that_is_not_a_node_or_has_no_agent_is_not_asked) {
  begin();
  EXPECT_EQ(test_now({node_named("0000:3b:00.0", SubjectKind::gpu)}).error().code, Errc::malformed);
  ASSERT_TRUE(test_now({node_named("unlisted")}));
  ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  ASSERT_FALSE(*said_);
  EXPECT_THAT(said_->error().what, HasSubstr("no agent is known on a node unlisted"));
  EXPECT_TRUE(plans_.empty());
}

constexpr Duration kLength = 1min;
constexpr std::uint64_t kFirst = 29'000'000;
constexpr WallTime kBegin{kLength * kFirst};

// A node that makes rounds on a clock that the test moves, with the worst jitter in turn.
class TurningNode {
 public:
  explicit TurningNode(double place) : turns_(place) {}

  // Waits for the next round and makes it; the timer waits as long whatever becomes of the clock meanwhile.
  void make_round(Duration takes = 100ms, Duration step = 0s) {
    do {
      now += turns_.until_next(now, kLength, jitter_) + std::exchange(step, 0s);
    } while (!turns_.is_open(now, kLength));
    numbers.push_back(PingTurns::number_at(now, kLength));
    begins.push_back(now);
    turns_.note_round(now, kLength);
    now += takes;
    jitter_ = jitter_ == 0 ? 0.999 : 0;
  }

  WallTime now = kBegin + 7s;
  std::vector<std::uint64_t> numbers;
  std::vector<WallTime> begins;

 private:
  PingTurns turns_;
  double jitter_ = 0;
};

void expect_consecutive(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    EXPECT_EQ(numbers[i], numbers[i - 1] + 1) << "round " << i;
}

TEST(PingTurns, each_turn_has_one_round_wherever_in_it_a_node_begins) {
  for (const double place : {0.0, 0.3, 0.999}) {
    TurningNode node(place);
    for (int round = 0; round < 1000; ++round)
      node.make_round();
    expect_consecutive(node.numbers);
    for (std::size_t i = 1; i < node.begins.size(); ++i)
      EXPECT_GE(node.begins[i] - node.begins[i - 1], i == 1 ? 1s : 53s);
  }
}

TEST(PingTurns, rounds_that_are_slow_leave_none_out) {
  for (const double place : {0.0, 0.5, 0.999}) {
    TurningNode node(place);
    for (int round = 0; round < 1000; ++round)
      node.make_round(round % 3 == 0 ? 50s : 20s);
    expect_consecutive(node.numbers);
  }
}

TEST(PingTurns, a_round_that_is_longer_than_its_turn_skips_the_turns_that_it_took) {
  TurningNode node(0.5);
  node.make_round(3min);
  node.make_round();
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst + 3, kFirst + 4));
}

TEST(PingTurns, nodes_begin_at_places_of_their_own) {
  TurningNode early(0);
  TurningNode late(0.999);
  early.make_round();
  early.make_round();
  late.make_round();
  late.make_round();
  EXPECT_EQ(early.numbers.back(), late.numbers.back());
  EXPECT_GT(late.begins.back() - early.begins.back(), 30s);
}

TEST(PingTurns, a_clock_that_is_set_forward_leaves_out_what_never_was) {
  TurningNode node(0.5);
  node.make_round();
  node.make_round(100ms, 3min);
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst + 4, kFirst + 5));
}

TEST(PingTurns, a_clock_that_is_set_a_little_repeats_nothing) {
  for (const Duration step : std::vector<Duration>{-1ms, -20s, -45s, 20s}) {
    TurningNode node(0.5);
    for (int round = 0; round < 3; ++round)
      node.make_round();
    node.now += step;
    for (int round = 0; round < 3; ++round)
      node.make_round();
    expect_consecutive(node.numbers);
  }
}

TEST(PingTurns, a_clock_that_is_set_back_by_an_hour_is_followed) {
  TurningNode node(0.5);
  node.make_round();
  node.now -= 1h;
  node.make_round();
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst - 60, kFirst - 59));
}

TEST(PingTurns, turns_of_another_length_begin_at_once) {
  PingTurns turns(0);
  turns.note_round(kBegin + 1s, 1h);
  EXPECT_FALSE(turns.is_open(kBegin + 1s, 1h));
  EXPECT_TRUE(turns.is_open(kBegin + 2s, 10s));
  EXPECT_LE(turns.until_next(kBegin + 2s, 10s, 0), 10s);
}

TEST(PingTurns, numbers_go_on_through_1970) {
  EXPECT_EQ(PingTurns::number_at(WallTime{-1s}, kLength) + 1, PingTurns::number_at(WallTime{1s}, kLength));
}

std::vector<fleet::Peer> agents(std::size_t count) {
  std::vector<fleet::Peer> peers;
  for (std::size_t i = 0; i < count; ++i)
    peers.push_back({"node-" + std::to_string(10000 + i), "10.0.0.1", 3333});
  return peers;
}

std::set<std::string> names(const std::vector<fleet::Peer>& peers) {
  std::set<std::string> found;
  for (const fleet::Peer& peer : peers)
    found.insert(peer.node);
  return found;
}

TEST(PingTargets, a_node_alone_asks_no_other) {
  EXPECT_TRUE(peers_to_ping(agents(1), "node-10000", {}).empty());
  EXPECT_TRUE(peers_to_ping({}, "node-10000", {}).empty());
}

TEST(PingTargets, few_nodes_ask_all_others_in_each_round) {
  for (const std::uint64_t round : std::vector<std::uint64_t>{0, 1, 1000000}) {
    const auto found = names(peers_to_ping(agents(64), "node-10007", {.round = round}));
    EXPECT_EQ(found.size(), 63U);
    EXPECT_FALSE(found.contains("node-10007"));
  }
}

TEST(PingTargets, of_many_nodes_each_is_asked_by_as_many_in_each_round) {
  const auto all = agents(200);
  std::map<std::string, int> asked;
  for (const fleet::Peer& peer : all)
    for (const fleet::Peer& target : peers_to_ping(all, peer.node, {.round = 77}))
      ++asked[target.node];
  ASSERT_EQ(asked.size(), 200U);
  for (const auto& [node, times] : asked)
    EXPECT_EQ(times, 16) << node;
}

TEST(PingTargets, all_pairs_meet_in_turn) {
  const auto all = agents(200);
  std::set<std::string> met;
  for (std::uint64_t round = 5000; round < 5000 + (199 + 15) / 16; ++round)
    met.merge(names(peers_to_ping(all, "node-10100", {.round = round})));
  EXPECT_EQ(met.size(), 199U);
}

TEST(PingTargets, the_order_in_which_agents_are_listed_changes_nothing) {
  auto all = agents(100);
  const auto one = names(peers_to_ping(all, "node-10050", {.round = 3}));
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(names(peers_to_ping(all, "node-10050", {.round = 3})), one);
}

TEST(PingTargets, nodes_with_an_abnormal_result_are_asked_again_and_departed_nodes_are_not) {
  const auto all = agents(100);
  const auto usual = names(peers_to_ping(all, "node-10000", {.round = 1}));
  std::string other;
  for (const fleet::Peer& peer : all)
    if (!usual.contains(peer.node) && peer.node != "node-10000") other = peer.node;
  const auto found =
      names(peers_to_ping(all, "node-10000", {.round = 1, .again = {other, "node-gone", "node-10000"}}));
  EXPECT_EQ(found.size(), usual.size() + 1);
  EXPECT_TRUE(found.contains(other));
}

TEST(PingTargets, all_are_asked_where_that_is_wanted) {
  EXPECT_EQ(peers_to_ping(agents(1000), "node-10000", {.asks_all = true}).size(), 999U);
}

// An agent that is not listed yet asks all: it has no place in the order.
TEST(PingTargets, an_agent_that_is_not_listed_asks_all) {
  EXPECT_EQ(peers_to_ping(agents(70), "node-new", {}).size(), 70U);
}

}  // namespace

}  // namespace autopilot::nettest
