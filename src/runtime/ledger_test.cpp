// SPDX-License-Identifier: Apache-2.0
#include "runtime/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/fakes/fake_host.hpp"

namespace autopilot::runtime {

namespace {

using namespace std::chrono_literals;

class DurableWaitersTest : public ::testing::Test {
 protected:
  void wait_for(std::uint64_t batch, Duration patience) {
    waiters_.add(batch, MonoTime{patience},
                 [this, batch](bool durable) { told_ += std::to_string(batch) + (durable ? "+" : "-"); });
  }

  DurableWaiters waiters_;
  std::string told_;
};

TEST_F(DurableWaitersTest, are_told_once_when_their_batch_is_settled) {
  wait_for(3, 10s);
  wait_for(5, 10s);
  waiters_.settle(4, true);
  EXPECT_EQ(told_, "3+");
  waiters_.settle(5, false);
  EXPECT_EQ(told_, "3+5-");
  EXPECT_FALSE(waiters_.next());
}

TEST_F(DurableWaitersTest, lose_patience_each_at_its_own_time) {
  wait_for(1, 20s);
  wait_for(2, 10s);
  EXPECT_EQ(waiters_.next(), MonoTime{10s});
  waiters_.give_up(MonoTime{10s});
  EXPECT_EQ(told_, "2-");
  EXPECT_EQ(waiters_.next(), MonoTime{20s});
}

TEST_F(DurableWaitersTest, may_ask_again_while_they_are_told) {
  waiters_.add(1, MonoTime{10s}, [this](bool) { wait_for(1, 30s); });
  waiters_.settle(1, true);
  EXPECT_EQ(told_, "");
  waiters_.settle(1, true);
  EXPECT_EQ(told_, "1+");
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

Event event(const std::string& message) {
  Event event;
  event.message = message;
  return event;
}

class LedgerTest : public ::testing::Test {
 protected:
  [[nodiscard]] Ledger ledger() {
    return {{"boot-1", true},
            clock_,
            [this](store::Batch batch, const std::function<void(bool)>& done) {
              batches_.push_back(std::move(batch));
              done(is_durable_);
            },
            inbox_};
  }
  void deliver_to(Ledger& ledger) {
    for (const auto& committed : inbox_->take().committed)
      ledger.settle(committed);
  }

  fakes::SimulatedClock clock_;
  bool is_durable_ = true;
  std::vector<store::Batch> batches_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>([] {});
};

TEST_F(LedgerTest, an_event_says_where_it_was_told_and_is_shown_once_durable) {
  Ledger ledger = this->ledger();
  ledger.restore(41, {}, {});
  std::vector<bool> answers;
  EXPECT_EQ(ledger.tell(event("a")), 42U);
  ledger.when_durable([&answers](bool durable) { answers.push_back(durable); });
  EXPECT_THAT(ledger.events().after(0), IsEmpty());
  ledger.flush();
  deliver_to(ledger);
  ASSERT_THAT(ledger.events().after(0), SizeIs(1));
  const Event shown = ledger.events().after(0).front();
  EXPECT_EQ(shown.boot_id, "boot-1");
  EXPECT_TRUE(shown.simulated);
  EXPECT_EQ(shown.time, clock_.now().wall);
  EXPECT_THAT(answers, ElementsAre(true));
  EXPECT_FALSE(ledger.take_missed());
}

TEST_F(LedgerTest, nothing_new_is_no_commit) {
  Ledger ledger = this->ledger();
  ledger.flush();
  EXPECT_THAT(batches_, IsEmpty());
}

TEST_F(LedgerTest, a_lost_batch_is_told_once_and_its_events_are_shown_at_once_as_not_durable) {
  Ledger ledger = this->ledger();
  is_durable_ = false;
  std::vector<bool> answers;
  (void)ledger.tell(event("a"));
  ledger.when_durable([&answers](bool durable) { answers.push_back(durable); });
  ledger.flush();
  deliver_to(ledger);
  EXPECT_THAT(answers, ElementsAre(false));
  EXPECT_TRUE(ledger.take_missed());
  EXPECT_FALSE(ledger.take_missed());
  EXPECT_EQ(ledger.next_flush(), std::nullopt);
  ASSERT_THAT(ledger.events().after(0), SizeIs(1));
  EXPECT_FALSE(ledger.events().after(0).front().durable);
}

TEST_F(LedgerTest, what_is_no_event_is_durable_with_its_own_batch) {
  Ledger ledger = this->ledger();
  (void)ledger.tell(event("a"));
  ledger.flush();
  ledger.add("written_verdict", "EVICT");
  std::vector<bool> answers;
  ledger.when_durable([&answers](bool durable) { answers.push_back(durable); });
  deliver_to(ledger);
  EXPECT_THAT(answers, IsEmpty()) << "the batch before it is durable";
  ledger.flush();
  deliver_to(ledger);
  EXPECT_THAT(answers, ElementsAre(true));
}

TEST_F(LedgerTest, lasting_facts_are_written_again_as_they_are_now) {
  Ledger ledger = this->ledger();
  ledger.restore(
      0, {}, {{{"gpu.resets", "old"}, {"written_verdict", "WARN"}}, {{"GPU-1", "deep_test", {}, "", "1"}}});
  ledger.add("gpu.resets", "new");
  ledger.add({{"GPU-1", "deep_test", {}, "", "2"}, {"GPU-2", "deep_test", {}, "", "2"}});
  ledger.flush();
  ledger.add_lasting_facts();
  ledger.flush();
  ASSERT_THAT(batches_, SizeIs(2));
  EXPECT_THAT(batches_[1].values, ElementsAre(Pair("gpu.resets", "new"), Pair("written_verdict", "WARN")));
  ASSERT_THAT(batches_[1].pass_records, SizeIs(2));
  EXPECT_EQ(batches_[1].pass_records[0].operation, "2");
}

TEST_F(LedgerTest, without_a_journal_events_are_shown_at_once) {
  Ledger ledger({"boot-1", false}, clock_, {}, inbox_);
  (void)ledger.tell(event("a"));
  ledger.add(std::vector<Incident>(1));
  ledger.flush();
  EXPECT_THAT(ledger.events().after(0), SizeIs(1));
  EXPECT_TRUE(ledger.batch().empty());
}

}  // namespace

}  // namespace autopilot::runtime
