// SPDX-License-Identifier: Apache-2.0
#include "kube/event_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/scripted_api.hpp"

namespace autopilot::kube {
namespace {

using net::testing::answer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

EventFact pod_fact(const std::string& message, const std::string& pod = "train-0") {
  return {.object = {"v1", "Pod", "ml", pod, "u1"},
          .type = EventType::warning,
          .reason = "PodEvicted",
          .message = message};
}

TEST(EventQueue, goes_on_with_one_until_the_server_has_it) {
  EventQueue queue(8);
  EXPECT_EQ(queue.next(), nullptr);
  queue.note(pod_fact("first"), {});
  queue.note(pod_fact("second"), {});
  EXPECT_EQ(queue.next()->message, "first");
  EXPECT_EQ(queue.next()->message, "first");
  queue.refused(ApiOutcome::busy);
  EXPECT_EQ(queue.next()->message, "first");
  queue.written();
  EXPECT_EQ(queue.next()->message, "second");
  queue.written();
  EXPECT_FALSE(queue.has_next());
}

TEST(EventQueue, makes_again_what_the_server_has_forgotten) {
  EventQueue queue(8);
  queue.note(pod_fact("same"), {});
  EXPECT_EQ(queue.next()->kind, EventWrite::Kind::create);
  queue.written();
  queue.note(pod_fact("same"), {});
  EXPECT_EQ(queue.next()->kind, EventWrite::Kind::patch);
  queue.refused(ApiOutcome::not_found);
  EXPECT_EQ(queue.next()->kind, EventWrite::Kind::create);
  queue.refused(ApiOutcome::conflict);  // it had arrived
  EXPECT_EQ(queue.next()->kind, EventWrite::Kind::patch);
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST(EventQueue, drops_what_the_server_never_takes_and_the_oldest_of_too_many) {
  EventQueue queue(2);
  for (const char* pod : {"a", "b", "c"})
    queue.note(pod_fact("m", pod), {});
  EXPECT_EQ(queue.dropped(), 1U);
  EXPECT_EQ(queue.next()->object.name, "b");
  queue.refused(ApiOutcome::invalid);
  EXPECT_EQ(queue.dropped(), 2U);
  EXPECT_EQ(queue.next()->object.name, "c");
  queue.drop();
  EXPECT_EQ(queue.dropped(), 3U);
  EXPECT_FALSE(queue.has_next());
}

class SendEvent : public testing::ScriptedApi {
 protected:
  std::string sent(const EventWrite& write) {
    bool is_done = false;
    const auto exchange = send_event(*client_, write, {"autopilot-controller", "controller-1"},
                                     [&is_done](const ApiResult<std::string>&) { is_done = true; });
    EXPECT_TRUE(net::testing::run_until(loop_, [&is_done] { return is_done; }));
    return server_->requests().back();
  }
};

TEST_F(SendEvent, is_in_the_namespace_of_its_object_and_says_who_told_it) {
  serve({{answer(201, "{}")}, {answer(200, "{}")}});
  EventQueue queue(8);
  queue.note(pod_fact("moved"), clock_.now());
  const std::string created = sent(*queue.next());
  EXPECT_THAT(created, StartsWith("POST /api/v1/namespaces/ml/events?"));
  EXPECT_THAT(created, HasSubstr(R"("kind":"Pod","name":"train-0","uid":"u1","namespace":"ml")"));
  EXPECT_THAT(created, HasSubstr(R"("source":{"component":"autopilot-controller","host":"controller-1"})"));
  EXPECT_THAT(created, HasSubstr(R"("firstTimestamp":"1970-01-01T01:00:00Z")"));
  queue.written();
  queue.note(pod_fact("moved"), clock_.now());
  const std::string patched = sent(*queue.next());
  EXPECT_THAT(patched, StartsWith("PATCH /api/v1/namespaces/ml/events/train-0."));
  EXPECT_THAT(patched, HasSubstr(R"("count":2)"));
  EXPECT_THAT(patched, Not(HasSubstr("involvedObject")));
}

}  // namespace
}  // namespace autopilot::kube
