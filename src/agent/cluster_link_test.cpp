// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster_link.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_samples.hpp"
#include "host/clock/system_clock.hpp"
#include "net/test_server.hpp"

namespace autopilot::agent {
namespace {

const std::string kNodes = R"({"metadata": {"resourceVersion": "7"}, "items": [
  {"metadata": {"name": "gpu-7", "uid": "u", "resourceVersion": "7", "labels": {"autopilot.ibm.com/gpuhealth": "TESTING"}},
   "spec": {}, "status": {}}]})";

// An agent that is about to write of its node what others act on.
class ClusterLinkTest : public ::testing::Test {
 protected:
  ClusterLinkTest() {
    server_.route("GET", "/api/v1/nodes", [this](const net::HttpRequest& request, net::Responder responder) {
      // A watch in which nothing happens.
      if (request.query.contains("watch")) return watches_.push_back(std::move(responder));
      responder.respond(net::HttpResponse{.body = kNodes});
    });
    server_.route("PATCH", "/api/v1/nodes/{node}",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    written_labels_.push_back(request.body);
                    responder.respond(net::HttpResponse{.body = "{}"});
                  });
  }
  void start() {
    ClusterDoor door;
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
    NodeWriterOptions options;
    options.node = "gpu-7";
    link_ = std::make_unique<ClusterLink>(loop_, clock_, std::move(door), std::move(options),
                                          config::DeepTest{}, std::move(sources), ClusterMemory{});
    link_->start();
    note();
  }
  void note() {
    NodeSnapshot snapshot = api::testing::sample_node();
    snapshot.verdict = Verdict::evict;
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

  const host::SystemClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::vector<net::Responder> watches_;
  std::vector<std::string> written_labels_;  // bodies
  incidents::WrittenVerdict written_;
  std::vector<std::function<void()>> on_kept_;
  std::function<void()> on_judged_;
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

}  // namespace
}  // namespace autopilot::agent
