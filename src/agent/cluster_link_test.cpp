// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster_link.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "tests/support/api/test_samples.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent {
namespace {

std::string nodes(const std::string& label) {
  return R"({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "gpu-7", "uid": "u",
    "resourceVersion": "7", "labels": {"autopilot.ibm.com/gpuhealth": ")" +
         label + R"("}, "annotations": {"autopilot.ibm.com/checked-by": "2026-11-21T03:00:00.000Z_7"}},
    "spec": {}, "status": {}}]})";
}

// An agent that is about to write of its node what others act on.
class ClusterLinkTest : public ::testing::Test {
 protected:
  ClusterLinkTest() {
    server_.route("GET", "/api/v1/nodes", [this](const net::HttpRequest& request, net::Responder responder) {
      // A watch in which nothing happens.
      if (request.query.contains("watch")) return watches_.push_back(std::move(responder));
      responder.respond(net::HttpResponse{.body = nodes(label_)});
    });
    server_.route("PATCH", "/api/v1/nodes/{node}",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    written_labels_.push_back(request.body);
                    responder.respond(net::HttpResponse{.body = "{}"});
                  });
    server_.route("POST", "/api/v1/namespaces/default/events",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    told_events_.push_back(request.body);
                    responder.respond(net::HttpResponse{.status = 201, .body = "{}"});
                  });
  }
  void start(report::ClusterMemory memory = {}) {
    kube::ClusterDoor door;
    door.access.server = {false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""};
    door.access.token = "secret";
    door.name_space = "autopilot";
    ClusterSources sources;
    sources.reasons = [](std::string_view) { return nullptr; };
    sources.saved_state = [] { return incidents::SavedState{}; };
    sources.keep = [this](const incidents::WrittenVerdict& written, std::function<void()> on_kept) {
      written_ = written;
      on_kept_.push_back(std::move(on_kept));
    };
    sources.deep_test = {
        .reserve = [](bool) {},
        .judge = [this](const Result<Observations>&,
                        std::function<void()> on_judged) { on_judged_ = std::move(on_judged); },
        .pass = [](const std::vector<PassRecord>&) {}};
    sources.passes = &passes_;
    report::NodeWriterOptions options;
    options.node = "gpu-7";
    link_ = std::make_unique<ClusterLink>(loop_, clock_, std::move(door), std::move(options),
                                          config::Config{}, std::move(sources), std::move(memory));
    link_->start();
    note();
  }
  void note() {
    NodeSnapshot snapshot = api::testing::sample_node();
    snapshot.verdict = verdict_;
    link_->note(std::make_shared<const NodeSnapshot>(std::move(snapshot)));
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  void end_keeping() {
    for (const auto& on_kept : std::exchange(on_kept_, {}))
      on_kept();
  }
  [[nodiscard]] bool has_written(std::string_view text) const {
    return std::ranges::any_of(
        written_labels_, [text](const std::string& body) { return body.find(text) != std::string::npos; });
  }
  // Whatever was to be written by now would be on its way.
  void pass_time() {
    bool is_over = false;
    const auto timer = loop_.after(std::chrono::milliseconds{300}, [&is_over] { is_over = true; });
    ASSERT_TRUE(run_until([&is_over] { return is_over; }));
  }

  // With a journal whose last agent was that one, and had written PASS. Gives what is written next.
  Verdict written_after(const std::string& last_instance) {
    label_ = "EVICT";
    verdict_ = Verdict::pass;
    start({.written = incidents::WrittenVerdict{.word = Verdict::pass, .evicting = {}, .node_uid = "u"},
           .pass_records = {},
           .last_instance = last_instance});
    EXPECT_TRUE(run_until([this] { return on_judged_ != nullptr; }));
    on_judged_();
    note();
    EXPECT_TRUE(run_until([this] { return !on_kept_.empty() || has_written("gpuhealth"); }));
    return on_kept_.empty() ? Verdict::pass : written_.word;
  }

  std::string label_ = "TESTING";
  Verdict verdict_ = Verdict::evict;
  const host::SystemClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::vector<net::Responder> watches_;
  std::vector<std::string> written_labels_;  // bodies
  std::vector<std::string> told_events_;     // likewise
  incidents::WrittenVerdict written_;
  std::vector<std::function<void()>> on_kept_;
  std::function<void()> on_judged_;
  diagnostics::PassBook passes_{{}, [](const std::vector<PassRecord>&) {}};
  std::unique_ptr<ClusterLink> link_;
};

TEST_F(ClusterLinkTest, what_others_act_on_is_kept_before_it_is_written) {
  start();
  ASSERT_TRUE(run_until([this] { return on_judged_ != nullptr; }));
  on_judged_();
  note();
  ASSERT_TRUE(run_until([this] { return written_.word == Verdict::evict; }));
  pass_time();
  EXPECT_FALSE(has_written("gpuhealth"));
  end_keeping();
  EXPECT_TRUE(run_until([this] { return has_written("EVICT"); }));
}

// What stood there before is kept as soon as it is seen, and is known before what is to stand there.
TEST_F(ClusterLinkTest, a_label_is_not_touched_before_this_run_knows_what_it_says) {
  start();
  ASSERT_TRUE(run_until([this] { return !on_kept_.empty() && on_judged_; }));
  end_keeping();
  pass_time();
  EXPECT_FALSE(has_written("gpuhealth"));
  on_judged_();
  note();
  ASSERT_TRUE(run_until([this] { return !on_kept_.empty(); }));
  end_keeping();
  EXPECT_TRUE(run_until([this] { return has_written("EVICT"); }));
  EXPECT_FALSE(has_written("gpuhealth\":null"));
}

// A journal that was away for a while does not know why the label says EVICT.
TEST_F(ClusterLinkTest, an_evict_of_an_agent_without_this_journal_stays) {
  EXPECT_EQ(written_after("2026-11-21T02:00:00.000Z_9"), Verdict::evict);
  EXPECT_THAT(
      link_->why_evicted(),
      ::testing::EndsWith("or remove the label: kubectl label node gpu-7 autopilot.ibm.com/gpuhealth-"));
  end_keeping();
  EXPECT_TRUE(run_until([this] { return has_written("the node had EVICT before this agent started"); }));
  EXPECT_TRUE(run_until([this] {
    return std::ranges::any_of(told_events_, [](const std::string& body) {
      return body.find(R"("reason":"EvictStays")") != std::string::npos;
    });
  }));
}

// It was killed between its journal and the node.
TEST_F(ClusterLinkTest, an_evict_that_this_journal_ended_goes) {
  EXPECT_EQ(written_after("2026-11-21T03:00:00.000Z_7"), Verdict::pass);
}

TEST_F(ClusterLinkTest, an_evict_that_a_later_agent_with_this_journal_ended_goes) {
  EXPECT_EQ(written_after("2026-11-21T04:00:00.000Z_1"), Verdict::pass);
}

}  // namespace
}  // namespace autopilot::agent
