// SPDX-License-Identifier: Apache-2.0
#include "kube/cluster_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClusterWriterTest : public testing::ClusterFixture {
 protected:
  // Writes to a path of this name.
  void add(WriteKind kind, const std::string& name) {
    ClusterWriter::Source source;
    source.what = "the " + name;
    source.send = [this, name](kube::OnObject on_answer) {
      sent_.push_back(clock_.now().mono);
      return std::optional(client_->create({"/" + name, {}}, "{}", std::move(on_answer)));
    };
    source.on_written = [](const std::string&) {};
    writer_->add(kind, std::move(source));
  }

  std::vector<MonoTime> sent_;
};

TEST_F(ClusterWriterTest, what_one_kind_is_refused_keeps_no_other_waiting) {
  serve({{answer(403, R"({"message":"no right"})")}, {answer(200, "{}")}});
  add(WriteKind::label, "label");
  add(WriteKind::conditions, "conditions");
  writer_->want(WriteKind::label);
  writer_->want(WriteKind::conditions);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
  EXPECT_THAT(requests(), ElementsAre("POST /label", "POST /conditions"));
  EXPECT_EQ(writer_->stats().failures, 1U);
  EXPECT_THAT(writer_->problem(), HasSubstr("the label cannot be written"));
}

TEST_F(ClusterWriterTest, a_server_that_wants_rest_gets_it_from_all_kinds) {
  serve({{answer(429, "", "Retry-After: 1\r\n")}, {answer(200, "{}")}, {answer(200, "{}")}});
  add(WriteKind::label, "label");
  add(WriteKind::conditions, "conditions");
  writer_->want(WriteKind::label);
  writer_->want(WriteKind::conditions);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 2; }));
  EXPECT_THAT(requests(), ElementsAre("POST /label", "POST /conditions", "POST /label"));
  EXPECT_GE(sent_.at(1) - sent_.at(0), Duration(1s));
}

TEST_F(ClusterWriterTest, says_what_the_server_does_not_take) {
  serve({{answer(422, R"({"message":"no such field"})")}});
  add(WriteKind::report, "report");
  writer_->want(WriteKind::report);
  ASSERT_TRUE(run_until([this] { return writer_->stats().failures == 1; }));
  EXPECT_THAT(writer_->problem(), HasSubstr("the report cannot be written: "));
  EXPECT_THAT(writer_->problem(), HasSubstr("422: no such field"));
}

TEST_F(ClusterWriterTest, no_more_than_six_go_in_a_minute) {
  serve(std::vector<net::testing::Scripted>(8, {answer(200, "{}")}));
  add(WriteKind::label, "label");
  for (std::uint64_t count = 1; count <= WriteOrder::kMaxWrites; ++count) {
    writer_->want(WriteKind::label);
    ASSERT_TRUE(run_until([this, count] { return writer_->stats().writes == count; }));
  }
  writer_->want(WriteKind::label);
  bool is_over = false;
  const auto end = loop_.after(200ms, [&] { is_over = true; });
  ASSERT_TRUE(run_until([&] { return is_over; }));
  EXPECT_EQ(requests().size(), WriteOrder::kMaxWrites);
}

TEST_F(ClusterWriterTest, what_is_wanted_while_it_is_held_goes_afterwards) {
  serve({{answer(200, "{}")}});
  add(WriteKind::label, "label");
  writer_->hold(true);
  writer_->want(WriteKind::label);
  EXPECT_TRUE(sent_.empty());
  writer_->hold(false);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
}

TEST_F(ClusterWriterTest, what_is_not_wanted_any_more_sends_nothing) {
  serve({{answer(200, "{}")}});
  ClusterWriter::Source nothing;
  nothing.what = "nothing";
  nothing.send = [](const kube::OnObject&) { return std::nullopt; };
  writer_->add(WriteKind::report, std::move(nothing));
  add(WriteKind::label, "label");
  writer_->want(WriteKind::report);
  writer_->want(WriteKind::label);
  ASSERT_TRUE(run_until([this] { return writer_->stats().writes == 1; }));
  EXPECT_THAT(requests(), ElementsAre("POST /label"));
}

TEST_F(ClusterWriterTest, what_failed_and_is_not_wanted_any_more_is_no_problem) {
  serve({{answer(429, "", "Retry-After: 1\r\n")}});
  ClusterWriter::Source source;
  source.what = "the event";
  source.send = [this](kube::OnObject on_answer) -> std::optional<net::Exchange> {
    sent_.push_back(clock_.now().mono);
    if (sent_.size() > 1) return std::nullopt;
    return client_->create({"/event", {}}, "{}", std::move(on_answer));
  };
  source.on_written = [](const std::string&) {};
  writer_->add(WriteKind::event, std::move(source));
  writer_->want(WriteKind::event);
  ASSERT_TRUE(run_until([this] { return writer_->stats().failures == 1; }));
  EXPECT_THAT(writer_->problem(), HasSubstr("the event cannot be written"));
  ASSERT_TRUE(run_until([this] { return sent_.size() == 2; }));
  EXPECT_EQ(writer_->problem(), "");
}

}  // namespace
}  // namespace autopilot::kube
