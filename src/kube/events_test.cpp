// SPDX-License-Identifier: Apache-2.0

#include "kube/events.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "core/parse.hpp"
#include "kube/json_object.hpp"
#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::kube {

namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

Instant told_at(Duration since) {
  return {.wall = WallTime{1'800'000'000s + since}, .mono = MonoTime{1000s + since}};
}

EventFact node_fact(const std::string& message, const std::string& node = "node-1") {
  return {
      .object = {.api_version = "v1", .kind = "Node", .name_space = {}, .name = node, .uid = "uid-" + node},
      .type = EventType::warning,
      .reason = "GpuFailed",
      .message = message};
}

// For what is not about objects that talk too much.
EventLimits patient() {
  EventLimits limits;
  limits.spacing = 0s;
  return limits;
}

TEST(EventRecorder, a_new_fact_becomes_an_event) {
  EventRecorder recorder;
  const auto write = recorder.record(node_fact("fell off the bus"), told_at(0s));
  ASSERT_TRUE(write);
  EXPECT_EQ(write->kind, EventWrite::Kind::create);
  EXPECT_EQ(write->name_space, "default");
  EXPECT_THAT(write->name, MatchesRegex("node-1\\.[0-9a-f]+"));
  EXPECT_EQ(write->object, node_fact("").object);
  EXPECT_EQ(to_string(write->type), "Warning");
  EXPECT_EQ(write->reason, "GpuFailed");
  EXPECT_EQ(write->message, "fell off the bus");
  EXPECT_EQ(write->count, 1);
  EXPECT_EQ(write->first, told_at(0s).wall);
  EXPECT_EQ(write->last, told_at(0s).wall);
}

TEST(EventRecorder, an_event_stands_in_the_namespace_of_its_object) {
  EventRecorder recorder;
  EventFact pod = node_fact("moved");
  pod.object.name_space = "team-a";
  EXPECT_EQ(recorder.record(pod, told_at(0s))->name_space, "team-a");
}

TEST(EventRecorder, the_same_fact_again_raises_the_count) {
  EventRecorder recorder;
  const auto first = recorder.record(node_fact("x"), told_at(0s));
  const auto again = recorder.record(node_fact("x"), told_at(9min));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, EventWrite::Kind::patch);
  EXPECT_EQ(again->name, first->name);
  EXPECT_EQ(again->count, 2);
  EXPECT_EQ(again->first, told_at(0s).wall);
  EXPECT_EQ(again->last, told_at(9min).wall);
  EXPECT_EQ(recorder.record(node_fact("x"), told_at(19min))->count, 3);
}

TEST(EventRecorder, after_a_long_silence_it_is_a_new_event) {
  EventRecorder recorder;
  const auto first = recorder.record(node_fact("x"), told_at(0s));
  const auto later = recorder.record(node_fact("x"), told_at(10min + 1s));
  EXPECT_EQ(later->kind, EventWrite::Kind::create);
  EXPECT_NE(later->name, first->name);
  EXPECT_EQ(later->count, 1);
}

TEST(EventRecorder, another_object_type_reason_or_message_is_another_event) {
  EventRecorder recorder;
  std::set<std::string> names;
  names.insert(recorder.record(node_fact("x"), told_at(0s))->name);
  names.insert(recorder.record(node_fact("x", "node-2"), told_at(0s))->name);
  names.insert(recorder.record(node_fact("y"), told_at(0s))->name);
  EventFact other = node_fact("x");
  other.type = EventType::normal;
  names.insert(recorder.record(other, told_at(0s))->name);
  other.reason = "GpuHealthy";
  names.insert(recorder.record(other, told_at(0s))->name);
  EXPECT_EQ(names.size(), 5U);
}

TEST(EventRecorder, too_many_different_messages_are_combined) {
  EventRecorder recorder(patient());
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(recorder.record(node_fact("bit " + std::to_string(i)), told_at(1s * i))->kind,
              EventWrite::Kind::create);
  const auto combined = recorder.record(node_fact("bit 10"), told_at(11s));
  EXPECT_EQ(combined->kind, EventWrite::Kind::create);
  EXPECT_EQ(combined->message, "(combined from similar events): bit 10");
  const auto more = recorder.record(node_fact("bit 11"), told_at(12s));
  EXPECT_EQ(more->kind, EventWrite::Kind::patch);
  EXPECT_EQ(more->name, combined->name);
  EXPECT_EQ(more->count, 2);
  EXPECT_EQ(more->message, "(combined from similar events): bit 11");
  EXPECT_EQ(recorder.record(node_fact("bit 3"), told_at(13s))->count, 2);  // one of the first keeps its own
  EXPECT_EQ(recorder.record(node_fact("bit 12", "node-2"), told_at(14s))->message, "bit 12");
  EXPECT_EQ(recorder.record(node_fact("bit 13"), told_at(24min))->message, "bit 13");  // after a silence
}

TEST(EventRecorder, an_object_that_talks_too_much_is_heard_rarely_and_what_is_dropped_is_counted) {
  EventRecorder recorder;
  int written = 0;
  for (int i = 0; i < 100; ++i)
    written += recorder.record(node_fact("x"), told_at(1s * i)) ? 1 : 0;
  EXPECT_EQ(written, 25);
  EXPECT_EQ(recorder.dropped(), 75U);
  EXPECT_TRUE(recorder.record(node_fact("x", "node-2"), told_at(100s)));
  const auto later = recorder.record(node_fact("x"), told_at(5min));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->count, 101);  // those that were dropped count
  EXPECT_FALSE(recorder.record(node_fact("x"), told_at(5min)));
}

TEST(EventRecorder, what_was_dropped_at_first_is_created_later_and_not_patched) {
  EventLimits limits;
  limits.burst = 1;
  EventRecorder recorder(limits);
  ASSERT_TRUE(recorder.record(node_fact("x"), told_at(0s)));
  ASSERT_FALSE(recorder.record(node_fact("y"), told_at(1s)));
  const auto later = recorder.record(node_fact("y"), told_at(6min));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->kind, EventWrite::Kind::create);
  EXPECT_EQ(later->count, 2);
  EXPECT_EQ(later->first, told_at(1s).wall);
}

TEST(EventRecorder, long_messages_are_cut_between_two_characters) {
  EventRecorder recorder(patient());
  const auto ascii = recorder.record(node_fact(std::string(100'000, 'a')), told_at(0s));
  EXPECT_EQ(ascii->message, std::string(1024, 'a'));
  for (const std::string before : {"", "a", "ab", "abc"}) {
    std::string text = before;
    for (int i = 0; i < 1000; ++i)
      text += "\xf0\x9f\x94\xa5";  // four bytes
    const std::string message = recorder.record(node_fact(text), told_at(1s))->message;
    EXPECT_LE(message.size(), 1024U);
    EXPECT_GT(message.size(), 1020U);
    EXPECT_EQ(to_utf8(message), message);
    EXPECT_THAT(message, EndsWith("\xa5"));
  }
}

TEST(EventRecorder, bytes_that_are_no_text_are_replaced) {
  EventRecorder recorder;
  EXPECT_EQ(recorder.record(node_fact("a\xff z"), told_at(0s))->message, "a\xef\xbf\xbd z");
  const auto binary = recorder.record(node_fact(std::string(5000, '\xff')), told_at(1s));
  EXPECT_LE(binary->message.size(), 1024U);
  EXPECT_EQ(to_utf8(binary->message), binary->message);
}

TEST(EventRecorder, a_combined_message_is_cut_as_well) {
  EventRecorder recorder(patient());
  for (int i = 0; i < 10; ++i)
    (void)recorder.record(node_fact(std::to_string(i)), told_at(0s));
  const auto combined = recorder.record(node_fact(std::string(2000, 'a')), told_at(1s));
  EXPECT_EQ(combined->message.size(), 1024U);
  EXPECT_THAT(combined->message, StartsWith("(combined from similar events): aaa"));
}

TEST(EventRecorder, names_differ_even_when_the_clock_does_not) {
  EventRecorder recorder(patient());
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i)
    names.insert(
        recorder.record(node_fact(std::to_string(i)), {.wall = WallTime{0s}, .mono = MonoTime{5s}})->name);
  EXPECT_EQ(names.size(), 10U);
}

TEST(EventRecorder, a_name_is_one_that_the_server_takes) {
  EventRecorder recorder;
  const std::string longest = std::string(235, 'n') + "-" + std::string(17, 'm');
  const std::string name = recorder.record(node_fact("x", longest), told_at(0s))->name;
  EXPECT_LE(name.size(), 253U);
  EXPECT_THAT(name, MatchesRegex("n+\\.[0-9a-f]+"));
}

TEST(EventRecorder, many_objects_do_not_fill_the_memory) {
  EventLimits limits;
  limits.names = 3;
  EventRecorder recorder(limits);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(recorder.record(node_fact("x", "node-" + std::to_string(i)), told_at(0s)));
  EXPECT_EQ(recorder.forgotten(), 3U * 97U);
  EXPECT_EQ(recorder.record(node_fact("x", "node-99"), told_at(1s))->kind, EventWrite::Kind::patch);
  EXPECT_EQ(recorder.record(node_fact("x", "node-0"), told_at(1s))->kind, EventWrite::Kind::create);
}

using net::testing::answer;
using ::testing::HasSubstr;
using ::testing::Not;

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

RecordedEvent read_event(std::string_view text) {
  const auto value = boost::json::parse({text.data(), text.size()});
  return parse_recorded_event({value.as_object()});
}

TEST(RecordedEvent, says_who_told_what_about_whom_and_when) {
  const auto event =
      read_event(R"({"involvedObject": {"kind": "Node", "name": "gpu-7"}, "type": "Warning", "reason": "Xid",
    "message": "m", "count": 3, "firstTimestamp": "2026-11-21T08:00:00Z", "lastTimestamp": "2026-11-21T08:05:00Z",
    "eventTime": null, "source": {"component": "old"}, "reportingComponent": "autopilot-agent"})");
  EXPECT_EQ(event.kind, "Node");
  EXPECT_EQ(event.name, "gpu-7");
  EXPECT_EQ(event.component, "autopilot-agent");
  EXPECT_EQ(event.type, "Warning");
  EXPECT_EQ(event.reason, "Xid");
  EXPECT_EQ(event.message, "m");
  EXPECT_EQ(event.count, 3);
  EXPECT_EQ(event.first, parse_time("2026-11-21T08:00:00Z"));
  EXPECT_EQ(event.last, parse_time("2026-11-21T08:05:00Z"));
}

TEST(RecordedEvent, may_be_a_series) {
  const auto event =
      read_event(R"({"source": {"component": "kubelet"}, "eventTime": "2026-11-21T08:00:00.000001Z",
    "series": {"count": 9, "lastObservedTime": "2026-11-21T09:00:00Z"}})");
  EXPECT_EQ(event.component, "kubelet");
  EXPECT_EQ(event.count, 9);
  EXPECT_EQ(event.last, parse_time("2026-11-21T09:00:00Z"));
}

TEST(RecordedEvent, of_which_only_its_creation_is_known_happened_then) {
  const auto event =
      read_event(R"({"metadata": {"creationTimestamp": "2026-11-21T08:00:00Z"}, "count": -4})");
  EXPECT_EQ(event.first, parse_time("2026-11-21T08:00:00Z"));
  EXPECT_EQ(event.last, event.first);
  EXPECT_EQ(event.count, 1);
  EXPECT_FALSE(read_event("{}").last);
}

}  // namespace

}  // namespace autopilot::kube
