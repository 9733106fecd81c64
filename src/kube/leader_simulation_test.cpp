// SPDX-License-Identifier: Apache-2.0
// Several candidates with bad clocks, a network that loses and delays, pauses, suspended machines, crashes
// and somebody who deletes: never two leaders at once.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kube/leader.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTick = 50ms;
constexpr LeaseTimes kLeaseTimes{};

// How much goes wrong, in thousandths.
struct Trouble {
  int lost_requests = 0;
  int lost_answers = 0;
  int slow_requests = 0;  // reach the server after their sender has given up
  int pauses = 0;         // per second and before an answer is read: the process stands still for up to 30 s
  int suspensions = 0;    // per second: its monotonic clock as well
  int crashes = 0;        // per second
  int shutdowns = 0;      // per second
  int cuts = 0;           // per second: no traffic for up to 40 s
};

// The lease at the server: an update must name the version it changes.
class Server {
 public:
  [[nodiscard]] const std::optional<LeaseRecord>& lease() const { return lease_; }
  std::optional<LeaseRecord> write(const LeaseStep& step) {
    const bool creates = step.kind == LeaseStep::Kind::create;
    if (creates == lease_.has_value()) return std::nullopt;
    if (!creates && step.record.resource_version != lease_->resource_version) return std::nullopt;
    // An update that changes nothing is no update.
    if (lease_ != step.record) {
      lease_ = step.record;
      lease_->resource_version = std::to_string(++version_);
    }
    return lease_;
  }

 private:
  std::optional<LeaseRecord> lease_;
  int version_ = 0;
};

enum class WallClock { right, ahead, frozen, jumps };

class Cluster;

class Candidate {
 public:
  Candidate(Cluster& cluster, std::string name, WallClock wall, Duration booted)
      : cluster_(cluster), name_(std::move(name)), wall_(wall), booted_(booted) {
    start();
  }

  void start() {
    election_ = std::make_unique<LeaderElection>(name_ + "-" + std::to_string(++runs_), kLeaseTimes,
                                                 [this] { return dice(); });
    inbox_.clear();
    ++flight_;
  }
  void shut_down() { election_->release(); }
  void pause(Duration until) { paused_until_ = std::max(paused_until_, until); }
  // Its monotonic clock does not see that time. Only the wall clock can tell, so it has to be a sane one.
  void suspend(Duration now, Duration until) {
    if (now < suspended_until_ || wall_ == WallClock::frozen || wall_ == WallClock::jumps) return;
    pause(until);
    suspended_until_ = until;
    booted_ += until - now;
  }
  void cut_off(Duration until) { cut_until_ = until; }

  void tick(Duration now);
  // A process that is paused may go on at any moment with what it believes then.
  [[nodiscard]] bool is_leader(Duration now) const {
    return now >= suspended_until_ && election_->is_leader(at(now));
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] Instant at(Duration now) const;
  double dice();
  void send(const LeaseStep& step, Duration now);

  Cluster& cluster_;
  std::string name_;
  WallClock wall_;
  Duration booted_;
  Duration jump_{0};
  std::unique_ptr<LeaderElection> election_;
  int runs_ = 0;
  int flight_ = 0;
  Duration paused_until_{0};
  Duration suspended_until_{0};
  Duration cut_until_{0};
  std::vector<std::function<void(const Instant&)>> inbox_;
};

class Cluster {
 public:
  Cluster(std::uint64_t seed, const Trouble& trouble) : random_(seed), trouble_(trouble) {
    candidates_.push_back(std::make_unique<Candidate>(*this, "a", WallClock::ahead, -5000s));
    candidates_.push_back(std::make_unique<Candidate>(*this, "b", WallClock::frozen, -100s));
    candidates_.push_back(std::make_unique<Candidate>(
        *this, "c", seed % 2 == 0 ? WallClock::jumps : WallClock::right, -99999s));
  }

  // The share of ticks with a leader.
  double run(Duration length) {
    int led = 0;
    int ticks = 0;
    for (const Duration end = now_ + length; now_ < end; now_ += kTick, ++ticks) {
      if (now_ % 1s == 0s) disturb();
      while (!events_.empty() && events_.begin()->first <= now_)
        events_.extract(events_.begin()).mapped()();
      for (const auto& candidate : candidates_)
        candidate->tick(now_);
      led += leaders();
      if (::testing::Test::HasFailure()) break;
    }
    return static_cast<double>(led) / ticks;
  }
  void calm_down() { trouble_ = {}; }
  // The leader is gone from one moment to the next.
  void crash_leader() {
    for (const auto& candidate : candidates_)
      if (candidate->is_leader(now_)) candidate->pause(now_ + 1h);
  }

  bool happens(int thousandths) { return below(1000) < thousandths; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  void later(Duration when, std::function<void()> event) { events_.emplace(when, std::move(event)); }
  Server& server() { return server_; }
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }

 private:
  int leaders() {
    std::string names;
    for (const auto& candidate : candidates_)
      if (candidate->is_leader(now_)) names += candidate->name();
    EXPECT_LE(names.size(), 1U) << names << " lead at " << format_duration(now_);
    return names.empty() ? 0 : 1;
  }
  void disturb() {
    for (const auto& candidate : candidates_) {
      const Duration until = now_ + std::chrono::milliseconds(below(30'000));
      if (happens(trouble_.pauses)) candidate->pause(until);
      if (happens(trouble_.suspensions)) candidate->suspend(now_, until);
      if (happens(trouble_.crashes)) candidate->start();
      if (happens(trouble_.shutdowns)) candidate->shut_down();
      if (happens(trouble_.cuts)) candidate->cut_off(now_ + std::chrono::milliseconds(below(40'000)));
    }
  }

  std::mt19937_64 random_;
  Trouble trouble_;
  Server server_;
  Duration now_{0};
  std::multimap<Duration, std::function<void()>> events_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
};

Instant Candidate::at(Duration now) const {
  const WallTime right{1'800'000'000s + now};
  const MonoTime mono{now - booted_};
  switch (wall_) {
    case WallClock::right:
      return {right, mono};
    case WallClock::ahead:
      return {right + 5h, mono};
    case WallClock::frozen:
      return {WallTime{0s}, mono};
    case WallClock::jumps:
      return {right + jump_, mono};
  }
  return {};
}

double Candidate::dice() {
  return cluster_.below(1000) / 1000.0;
}

void Candidate::tick(Duration now) {
  if (wall_ == WallClock::jumps && cluster_.happens(2))
    jump_ = std::chrono::seconds(cluster_.below(7200) - 3600);
  if (now < paused_until_) return;
  for (const auto& message : std::exchange(inbox_, {}))
    message(at(now));
  while (true) {
    const LeaseStep step = election_->step(at(now));
    if (step.kind == LeaseStep::Kind::wait) return;
    if (step.kind == LeaseStep::Kind::finished) return start();  // its successor
    if (step.kind >= LeaseStep::Kind::read && step.kind <= LeaseStep::Kind::release) send(step, now);
  }
}

void Candidate::send(const LeaseStep& step, Duration now) {
  const int flight = ++flight_;
  // The first report of a flight counts; the others come too late.
  const auto report = [this, flight](std::function<void(const Instant&)> what) {
    if (flight != flight_) return;
    inbox_.push_back([this, flight, what = std::move(what)](const Instant& at) {
      if (flight != flight_) return;
      ++flight_;
      what(at);
    });
  };
  cluster_.later(now + kLeaseTimes.request_deadline(),
                 [this, report] { report([this](const Instant& at) { election_->failed(at.mono); }); });
  const Trouble& trouble = cluster_.trouble();
  if (now < cut_until_ || cluster_.happens(trouble.lost_requests)) return;
  const bool is_slow = cluster_.happens(trouble.slow_requests);
  const Duration way = std::chrono::milliseconds(is_slow ? cluster_.below(20'000) : cluster_.below(300));
  const bool has_answer = !cluster_.happens(trouble.lost_answers);
  cluster_.later(now + way, [this, step, report, has_answer, arrives = now + 2 * way] {
    const bool reads = step.kind == LeaseStep::Kind::read;
    const std::optional<LeaseRecord> answer =
        reads ? cluster_.server().lease() : cluster_.server().write(step);
    if (!has_answer) return;
    cluster_.later(arrives, [this, report, reads, answer, arrives] {
      if (cluster_.happens(cluster_.trouble().pauses))
        pause(arrives + std::chrono::milliseconds(cluster_.below(30'000)));
      report([this, reads, answer](const Instant& at) {
        if (reads && answer) return election_->saw(*answer, at.mono);
        if (reads) return election_->saw_none(at.mono);
        return answer ? election_->wrote(*answer, at) : election_->failed(at.mono);
      });
    });
  });
}

TEST(LeaseSimulation, in_a_calm_cluster_somebody_leads_all_the_time) {
  Cluster cluster(1, {});
  EXPECT_GT(cluster.run(1h), 0.99);
}

TEST(LeaseSimulation, there_are_never_two_leaders_whatever_goes_wrong) {
  const Trouble trouble{.lost_requests = 100,
                        .lost_answers = 100,
                        .slow_requests = 50,
                        .pauses = 10,
                        .suspensions = 5,
                        .crashes = 3,
                        .shutdowns = 3,
                        .cuts = 10};
  double led = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed, trouble);
    led += cluster.run(20min) / 20;
    if (HasFailure()) return;
  }
  EXPECT_GT(led, 0.4);  // and most of the time there is one
}

TEST(LeaseSimulation, when_the_trouble_is_over_somebody_leads_again) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed, {.lost_requests = 500, .lost_answers = 300, .pauses = 50, .cuts = 50});
    (void)cluster.run(5min);
    cluster.calm_down();
    (void)cluster.run(1min);
    EXPECT_GT(cluster.run(5min), 0.95);
  }
}

TEST(LeaseSimulation, a_dead_leader_is_followed_within_a_lease_and_two_looks) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed, {});
    (void)cluster.run(1min);
    cluster.crash_leader();
    (void)cluster.run(kLeaseTimes.lease + 2 * kLeaseTimes.retry + 1s);
    EXPECT_GT(cluster.run(1s), 0.99);
  }
}

}  // namespace
}  // namespace autopilot::kube
