// SPDX-License-Identifier: Apache-2.0
// Requests and answers that get lost, a server that is away, and a process that is killed at any moment:
// afterwards nothing is left, and every test that was not killed told one result.
#include <gtest/gtest.h>
#include <memory>
#include <random>

#include "tests/support/diagnostics/pvc_cluster_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;
using testing::do_step;
using testing::kRunKey;
using PvcKind = PvcStep::Kind;
using Outcome = PvcResult::Outcome;

constexpr Duration kTick = 200ms;

struct PvcTrouble {
  int lost_requests = 0;  // in thousandths
  int lost_answers = 0;
  int kills = 0;  // per tick
};

class TroubledPvc {
 public:
  TroubledPvc(std::uint64_t seed, PvcTrouble trouble, bool waits, bool gives)
      : random_(seed), trouble_(trouble) {
    cluster_.storage_class->waits_for_consumer = waits;
    if (!gives) cluster_.gives_after.reset();
    begin();
  }

  void run(Duration length) {
    for (const MonoTime end = now_ + length; now_ < end; now_ += kTick) {
      cluster_.tick(now_);
      if (happens(trouble_.kills)) begin();
      advance();
    }
  }
  // Nothing goes wrong any more, and the process begins anew.
  PvcResult calm_down() {
    trouble_ = {};
    begin();
    const int before = results_;
    for (const MonoTime end = now_ + 20min; now_ < end && results_ == before; now_ += kTick) {
      cluster_.tick(now_);
      advance();
    }
    EXPECT_EQ(results_, before + 1);
    return last_;
  }
  [[nodiscard]] const testing::PvcCluster& cluster() const { return cluster_; }
  [[nodiscard]] int results() const { return results_; }
  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  bool happens(int thousandths) { return static_cast<int>(random_() % 1000) < thousandths; }
  void begin() {
    test_ =
        std::make_unique<PvcTest>(PvcTarget{"fast", "ReadWriteOnce"},
                                  PvcNames{"autopilot-pvc-1", kRunKey, std::to_string(++runs_)}, PvcTimes{});
  }
  void advance() {
    for (int requests = 0; requests < 3; ++requests) {
      if (happens(trouble_.lost_answers)) {
        lose_answer();
        continue;
      }
      const auto in_place =
          happens(trouble_.lost_requests) ? std::optional(kube::ApiOutcome::unreachable) : std::nullopt;
      const PvcStep step = do_step(*test_, cluster_, now_, in_place);
      if (step.kind == PvcKind::wait) return;
      if (step.kind != PvcKind::finished) continue;
      take_result();
      return;
    }
  }
  void lose_answer() {
    const PvcStep step = test_->step(now_);
    if (step.kind == PvcKind::wait || step.kind == PvcKind::finished) return;
    if (step.kind != PvcKind::look && step.kind != PvcKind::look_at_own)
      static_cast<void>(cluster_.write(step, test_->names(), now_));
    test_->failed(kube::ApiOutcome::unreachable, {Errc::unavailable, "no answer"}, now_);
  }
  void take_result() {
    ++results_;
    last_ = test_->result();
    const Outcome right = cluster_.gives_after ? Outcome::bound : Outcome::not_bound;
    if (last_.outcome != right && last_.outcome != Outcome::unknown) ++wrong_;
    begin();
  }

  std::mt19937_64 random_;
  PvcTrouble trouble_;
  testing::PvcCluster cluster_;
  MonoTime now_{1h};
  std::unique_ptr<PvcTest> test_;
  int runs_ = 0;
  int results_ = 0;
  int wrong_ = 0;
  PvcResult last_;
};

class PvcSimulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PvcSimulation, leaves_nothing_and_tells_no_lie) {
  const std::uint64_t seed = GetParam();
  const bool waits = seed % 2 == 0;
  const bool gives = seed % 3 != 0;
  TroubledPvc simulation(seed, {.lost_requests = 100, .lost_answers = 100, .kills = 10}, waits, gives);
  simulation.run(2h);
  EXPECT_EQ(simulation.wrong(), 0);
  const PvcResult result = simulation.calm_down();
  // Where nothing is given, the pod of a class that waits has not been told why it has no place.
  const Outcome none = waits ? Outcome::unknown : Outcome::not_bound;
  EXPECT_EQ(result.outcome, gives ? Outcome::bound : none);
  EXPECT_TRUE(result.is_clean);
  EXPECT_TRUE(simulation.cluster().is_empty());
}

TEST_P(PvcSimulation, tests_end_while_much_gets_lost) {
  TroubledPvc simulation(GetParam(), {.lost_requests = 300, .lost_answers = 200}, true, true);
  simulation.run(2h);
  EXPECT_GT(simulation.results(), 10);
  EXPECT_EQ(simulation.wrong(), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PvcSimulation, ::testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace autopilot::diagnostics
