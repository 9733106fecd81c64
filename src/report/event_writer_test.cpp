// SPDX-License-Identifier: Apache-2.0
#include "report/event_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::report {
namespace {

using net::testing::answer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Event incident(EventKind kind, Health health, const std::string& id = "ab-3") {
  Event event;
  event.kind = kind;
  event.subject = {.kind = SubjectKind::gpu, .key = "0000:3b:00.0", .index = {}};
  event.health = health;
  event.reason = "row_remap_failed";
  event.message = "a row could not be remapped";
  event.details = {{"incident", id}, {"action", std::string("replace")}, {"closedBy", std::string("reset")}};
  return event;
}

class EventWriterTest : public kube::testing::ClusterFixture {
 protected:
  void begin(std::vector<net::testing::Scripted> script) {
    serve(std::move(script));
    events_ = std::make_unique<EventWriter>(*client_, *writer_, clock_, "gpu-7");
  }
  void see_node() {
    kube::Node node;
    node.meta.name = "gpu-7";
    node.meta.uid = "1234";
    events_->see(node);
  }
  void note(EventKind kind, Health health) { events_->note({incident(kind, health)}, {}); }

  std::unique_ptr<EventWriter> events_;
};

TEST_F(EventWriterTest, tells_of_the_node_once_it_is_known) {
  begin({{answer(201, "{}")}});
  note(EventKind::incident_opened, Health::failed);
  see_node();
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
  const std::string request = server_->requests().front();
  EXPECT_THAT(request, StartsWith("POST /api/v1/namespaces/default/events?"));
  EXPECT_THAT(request, HasSubstr(R"("kind":"Node","name":"gpu-7","uid":"1234")"));
  EXPECT_THAT(request, HasSubstr(R"("reason":"RowRemapFailed")"));
  EXPECT_THAT(request, HasSubstr(R"("type":"Warning")"));
  EXPECT_THAT(request, HasSubstr(R"("source":{"component":"autopilot-agent","host":"gpu-7"})"));
}

TEST_F(EventWriterTest, tells_of_an_incident_again_when_it_is_worse_and_when_it_is_over) {
  begin(std::vector<net::testing::Scripted>(3, {answer(201, "{}")}));
  see_node();
  note(EventKind::incident_opened, Health::degraded);
  note(EventKind::incident_changed, Health::degraded);
  note(EventKind::incident_changed, Health::failed);
  note(EventKind::incident_closed, Health::failed);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 3; }));
  EXPECT_THAT(server_->requests().back(), HasSubstr("IncidentClosed"));
}

TEST_F(EventWriterTest, counts_what_is_told_again) {
  begin(std::vector<net::testing::Scripted>(2, {answer(201, "{}")}));
  see_node();
  events_->note({incident(EventKind::incident_closed, Health::failed)}, {});
  events_->note({incident(EventKind::incident_closed, Health::failed)}, {});
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 2; }));
  EXPECT_THAT(server_->requests().back(), StartsWith("PATCH /api/v1/namespaces/default/events/gpu-7."));
  EXPECT_THAT(server_->requests().back(), HasSubstr(R"("count":2)"));
  EXPECT_THAT(server_->requests().back(), Not(HasSubstr("involvedObject")));
}

TEST_F(EventWriterTest, one_that_arrived_without_an_answer_is_brought_up_to_date) {
  begin({{answer(409, R"({"reason":"AlreadyExists"})")}, {answer(200, "{}")}});
  see_node();
  note(EventKind::incident_opened, Health::failed);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
  EXPECT_THAT(requests().back(), StartsWith("PATCH /api/v1/namespaces/default/events/gpu-7."));
}

TEST_F(EventWriterTest, one_that_the_server_never_takes_is_given_up) {
  begin({{answer(422, "{}")}});
  see_node();
  note(EventKind::incident_opened, Health::failed);
  ASSERT_TRUE(run_until([this] { return writer_->stats().failures == 1; }));
  EXPECT_EQ(events_->dropped(), 1U);
}

TEST_F(EventWriterTest, the_oldest_go_when_too_many_wait) {
  begin({});
  // Different incidents of the same kind become one event, that is written again and again.
  for (std::size_t i = 0; i < EventWriter::kMaxWaiting + 5; ++i)
    events_->note({incident(EventKind::incident_opened, Health::failed, "ab-" + std::to_string(i))}, {});
  EXPECT_GE(events_->dropped(), 5U);
}

}  // namespace
}  // namespace autopilot::report
