// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <utility>

#include "checks/builtin.hpp"
#include "tests/fakes/told_name_servers.hpp"

namespace autopilot::checks {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using namespace std::chrono_literals;

using host::NameServerAnswer;
using host::NameServerOutcome;

constexpr const char* kFirst = "192.0.2.53";
constexpr const char* kSecond = "2001:db8::53";

NameServerAnswer answered(const char* address, int code = 0, Duration after = 1ms) {
  return {.address = address, .outcome = NameServerOutcome::answered, .code = code, .after = after};
}

NameServerAnswer with(const char* address, NameServerOutcome outcome, int code = 0) {
  return {.address = address, .outcome = outcome, .code = code};
}

class NetworkDns : public ::testing::Test {
 protected:
  // One round, a minute after the last: "subject health reason" of every finding.
  std::vector<std::string> words(std::vector<NameServerAnswer> answers) {
    servers_.seen = host::NameServersSeen{is_configured_, std::move(answers)};
    return look();
  }

  std::vector<std::string> look() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed =
        kNetworkDns.observe(host_, {.now = now, .deadline = now.mono + kNetworkDns.info.deadline});
    if (!observed) return {std::string(to_string(observed.error().code))};
    remember(observed->observations);
    history_.add(std::move(observed->observations), kNetworkDns.info.window);
    findings_ = kNetworkDns.judge({now, history_, catalog::builtin(), {}});
    std::vector<std::string> list;
    for (const Finding& finding : findings_)
      list.push_back(to_string(finding.subject) + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  // Another machine.
  void forget() {
    history_ = {};
    most_.clear();
  }

  // As the runtime does with the baselines of a check.
  void remember(Observations& round) {
    Observations largest;
    for (const Observation& observation : round) {
      if (!std::ranges::count(kNetworkDns.info.baselines, observation.name.text()) || !observation.value)
        continue;
      Observation most = observation;
      most.name = most.name + ".largest";
      double& known = most_[observation.subject];
      known = std::max(known, as_number(*observation.value).value_or(0));
      most.value = known;
      largest.push_back(most);
    }
    round.insert(round.end(), largest.begin(), largest.end());
  }

  fakes::EmptyHost empty_;
  fakes::ToldNameServers servers_;
  host::Host host_ = fakes::host_with(empty_, servers_);
  bool is_configured_ = true;
  History history_;
  std::map<Subject, double> most_;
  Findings findings_;
};

TEST_F(NetworkDns, any_answer_but_servfail_shows_a_server_that_works) {
  for (const int code : {0, 3, 5, 9}) {
    EXPECT_THAT(words({answered(kFirst, code), answered(kSecond, code)}), IsEmpty()) << code;
  }
}

TEST_F(NetworkDns, one_lost_packet_is_no_fault_and_the_second_one_is) {
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::closed), answered(kSecond)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_silent"));
  EXPECT_EQ(findings_[0].message,
            "the name server 192.0.2.53 refuses the connection: no program listens on port 53");
  EXPECT_THAT(findings_[0].evidence, Contains(Pair("outcome", Value{std::string("closed")})));
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
}

TEST_F(NetworkDns, two_rounds_in_a_row_have_none_between_them) {
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  // Somebody changed the list for a while.
  EXPECT_THAT(words({answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::denied), answered(kSecond)}),
              ElementsAre("peer/192.0.2.53 unknown not_permitted"));
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_silent"));
}

TEST_F(NetworkDns, whatever_is_no_answer_counts) {
  for (const NameServerOutcome outcome :
       {NameServerOutcome::silent, NameServerOutcome::closed, NameServerOutcome::malformed}) {
    EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
    EXPECT_THAT(words({with(kFirst, outcome), answered(kSecond)}), IsEmpty());
    EXPECT_THAT(words({with(kFirst, outcome), answered(kSecond)}),
                ElementsAre("peer/192.0.2.53 degraded name_server_silent"));
    EXPECT_FALSE(findings_[0].message.empty());
  }
}

// dnsmasq on a closed network finds no root, and behind some firewalls not even that it lives is seen.
TEST_F(NetworkDns, one_that_was_never_seen_to_find_anything_is_not_called_dead) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent)}),
                ElementsAre("peer/192.0.2.53 unknown name_server_unproven"));
    EXPECT_EQ(findings_[0].message,
              "the name server 192.0.2.53 does not answer; it has resolved nothing since the machine "
              "started");
  }
  // It may be all that is asked on this machine that is dead, whatever the others are.
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}),
                ElementsAre("peer/192.0.2.53 unknown name_server_unproven"));
}

TEST_F(NetworkDns, one_that_says_itself_that_it_is_not_there_is_missed_from_the_start) {
  for (const NameServerOutcome outcome : {NameServerOutcome::closed, NameServerOutcome::malformed}) {
    forget();
    EXPECT_THAT(words({with(kFirst, outcome)}), ElementsAre("peer/192.0.2.53 unknown name_server_unproven"));
    EXPECT_THAT(words({with(kFirst, outcome)}), ElementsAre("host degraded no_name_server",  //
                                                            "peer/192.0.2.53 degraded name_server_silent"));
  }
  // Not where another one may be sound.
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::closed), with(kSecond, NameServerOutcome::silent)}),
                Not(Contains("host degraded no_name_server")));
}

TEST_F(NetworkDns, nobody_answers_is_told_beside_what_is_told_of_each) {
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent), answered(kSecond)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_silent"));
  // The second one goes too: the first one is as dead as before.
  const std::vector<NameServerAnswer> none{with(kFirst, NameServerOutcome::silent),
                                           with(kSecond, NameServerOutcome::unreachable)};
  EXPECT_THAT(words(none), ElementsAre("peer/192.0.2.53 degraded name_server_silent"));
  EXPECT_THAT(words(none), ElementsAre("host degraded no_name_server",                 //
                                       "peer/192.0.2.53 degraded name_server_silent",  //
                                       "peer/2001:db8::53 degraded name_server_silent"));
  EXPECT_EQ(findings_[0].message, "no name server answers (2 configured)");
  EXPECT_THAT(findings_[0].evidence, Contains(Pair(kFirst, Value{std::string("silent")})));
  EXPECT_THAT(findings_[0].evidence, Contains(Pair(kSecond, Value{std::string("unreachable")})));
}

TEST_F(NetworkDns, the_only_one_that_is_silent_is_all_of_them) {
  EXPECT_THAT(words({answered(kFirst)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent)}),
              ElementsAre("host degraded no_name_server", "peer/192.0.2.53 degraded name_server_silent"));
  EXPECT_EQ(findings_[0].message, "the only name server does not answer");
}

TEST_F(NetworkDns, one_out_of_reach_costs_nothing_while_another_is_there) {
  EXPECT_THAT(words({answered(kFirst), answered(kSecond)}), IsEmpty());
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::unreachable), answered(kSecond)}), IsEmpty());
  // One lost packet of the other does not change that.
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::unreachable), with(kSecond, NameServerOutcome::silent)}),
              IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::unreachable), answered(kSecond, host::kServerFailure)}),
              IsEmpty());
}

// siderolabs/talos 10397: a machine that is cut off on purpose.
TEST_F(NetworkDns, a_machine_that_never_had_a_way_to_any_does_not_know) {
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(
        words({with(kFirst, NameServerOutcome::unreachable), with(kSecond, NameServerOutcome::unreachable)}),
        ElementsAre("peer/192.0.2.53 unknown name_server_unproven",
                    "peer/2001:db8::53 unknown name_server_unproven"));
}

TEST_F(NetworkDns, a_machine_that_lost_the_way_to_all_is_told) {
  EXPECT_THAT(words({answered(kFirst)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::unreachable)}), IsEmpty());
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::unreachable)}),
              ElementsAre("host degraded no_name_server", "peer/192.0.2.53 degraded name_server_silent"));
}

TEST_F(NetworkDns, a_server_that_fails_and_did_not_before_is_told_when_it_stays) {
  EXPECT_THAT(words({answered(kFirst)}), IsEmpty());
  EXPECT_THAT(words({answered(kFirst, host::kServerFailure)}), IsEmpty());
  EXPECT_THAT(words({answered(kFirst, host::kServerFailure)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_failing"));
  EXPECT_EQ(findings_[0].message, "the name server 192.0.2.53 answers SERVFAIL");
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::helpless, 5)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_failing"));
  EXPECT_EQ(findings_[0].message, "the name server 192.0.2.53 answers, but does not resolve names in time");
  EXPECT_THAT(words({answered(kFirst)}), IsEmpty());
}

TEST_F(NetworkDns, a_server_that_never_found_anything_out_may_be_on_a_closed_network) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(words({answered(kFirst, host::kServerFailure)}), IsEmpty());
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::helpless, 4)}), IsEmpty());
  }
  // It answered once, a quarter of an hour ago.
  EXPECT_THAT(words({answered(kFirst)}), IsEmpty());
  for (int i = 0; i < 15; ++i)
    static_cast<void>(words({answered(kFirst, host::kServerFailure)}));
  EXPECT_THAT(words({answered(kFirst, host::kServerFailure)}),
              ElementsAre("peer/192.0.2.53 degraded name_server_failing"));
}

TEST_F(NetworkDns, silence_and_failure_in_turns_are_neither) {
  static_cast<void>(words({answered(kFirst)}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::silent)}), IsEmpty());
    EXPECT_THAT(words({answered(kFirst, host::kServerFailure)}), IsEmpty());
  }
}

TEST_F(NetworkDns, an_answer_at_the_last_moment_still_comes_before_the_round_is_given_up) {
  static_cast<void>(words({answered(kFirst)}));
  ASSERT_TRUE(servers_.deadline);
  const Duration slack = empty_.clock.now().mono + kNetworkDns.info.deadline - *servers_.deadline;
  EXPECT_GE(slack, 200ms);
  EXPECT_LE(slack, kNetworkDns.info.deadline / 4);
  // Less than the C library waits for one server: a lane is held for so long in each round of silence.
  EXPECT_LE(kNetworkDns.info.deadline, 4s);
}

TEST_F(NetworkDns, the_median_of_the_answers_says_who_is_slow) {
  EXPECT_THAT(words({answered(kFirst, 0, 1800ms)}), IsEmpty());
  EXPECT_THAT(words({answered(kFirst, 0, 2s)}), IsEmpty());
  EXPECT_THAT(words({answered(kFirst, 0, 1ms)}), ElementsAre("peer/192.0.2.53 degraded name_server_slow"));
  EXPECT_EQ(findings_[0].message, "the name server 192.0.2.53 takes 1.8 s to answer (limit 1 s)");
  EXPECT_THAT(words({answered(kFirst, 0, 1ms)}), ElementsAre("peer/192.0.2.53 degraded name_server_slow"));
  EXPECT_THAT(words({answered(kFirst, 0, 1ms)}), IsEmpty());
}

TEST_F(NetworkDns, a_machine_without_a_list_and_a_server_does_without) {
  is_configured_ = false;
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(words({with("127.0.0.1", NameServerOutcome::closed)}),
                ElementsAre("host unsupported not_present"));
}

TEST_F(NetworkDns, a_server_on_this_machine_that_nobody_lists_is_missed_once_it_has_answered) {
  is_configured_ = false;
  EXPECT_THAT(words({answered("127.0.0.1")}), IsEmpty());
  static_cast<void>(words({with("127.0.0.1", NameServerOutcome::closed)}));
  EXPECT_THAT(words({with("127.0.0.1", NameServerOutcome::closed)}),
              ElementsAre("host degraded no_name_server", "peer/127.0.0.1 degraded name_server_silent"));
}

TEST_F(NetworkDns, who_may_not_ask_does_not_know) {
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(words({with(kFirst, NameServerOutcome::denied), answered(kSecond)}),
                ElementsAre("peer/192.0.2.53 unknown not_permitted"));
  // What was seen before it was forbidden is no news.
  for (int i = 0; i < 2; ++i)
    static_cast<void>(words({with(kFirst, NameServerOutcome::silent)}));
  EXPECT_THAT(words({with(kFirst, NameServerOutcome::denied)}),
              ElementsAre("peer/192.0.2.53 unknown not_permitted"));
  servers_.seen = fail(Errc::denied, "/etc/resolv.conf: Permission denied");
  EXPECT_THAT(look(), ElementsAre("denied"));
}

TEST_F(NetworkDns, an_own_limit_counts) {
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(words({answered(kFirst, 0, 900ms)}), IsEmpty());
  Expectation expectation;
  expectation.thresholds["network.dns.slow_seconds"] = 0.5;
  const auto findings = kNetworkDns.judge({empty_.clock.now(), history_, catalog::builtin(), expectation});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "name_server_slow");
}

}  // namespace
}  // namespace autopilot::checks
