// SPDX-License-Identifier: Apache-2.0
#include "controller/own_image.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "tests/fakes/fake_cluster.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const std::string kList = "/api/v1/namespaces/autopilot/pods";
const std::string kImage = "registry/autopilot:1";
constexpr const char* kPinned = "registry/autopilot@sha256:ab";

class OwnImageTest : public ::testing::Test {
 protected:
  OwnImageTest() { api_.serve(kList); }
  void put_pod(const std::string& image_id) {
    api_.put(
        kList + "/controller-0",
        R"({"metadata": {"name": "controller-0"}, "spec": {"containers": [{"name": "controller", "image": ")" +
            kImage + R"("}]}, "status": {"containerStatuses": [{"name": "controller", "imageID": ")" +
            image_id + R"("}]}})");
  }
  void start(const std::string& pod) {
    own_ = std::make_unique<OwnImage>(
        loop_, *client_, "autopilot", pod, [this] { ++known_; }, 1ms);
    own_->start();
  }
  [[nodiscard]] std::uint64_t answers() const {
    return client_->counts()[static_cast<std::size_t>(kube::ApiOutcome::ok)];
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
  std::unique_ptr<kube::Client> client_ = api_.client();
  std::unique_ptr<OwnImage> own_;
  int known_ = 0;
};

TEST_F(OwnImageTest, is_told_by_its_digest_and_no_other_image_is) {
  put_pod(kPinned);
  start("controller-0");
  EXPECT_EQ(own_->pinned(kImage), kImage);
  ASSERT_TRUE(run_until([&] { return known_ == 1; }));
  EXPECT_EQ(own_->pinned(kImage), kPinned);
  EXPECT_EQ(own_->pinned("registry/another:1"), "registry/another:1");
}

TEST_F(OwnImageTest, is_looked_for_again_until_the_kubelet_has_told_it) {
  put_pod("");
  start("controller-0");
  ASSERT_TRUE(run_until([&] { return answers() > 2; }));
  EXPECT_EQ(own_->pinned(kImage), kImage);
  put_pod(kPinned);
  ASSERT_TRUE(run_until([&] { return known_ == 1; }));
  EXPECT_EQ(own_->pinned(kImage), kPinned);
}

TEST_F(OwnImageTest, outside_of_a_cluster_stays_as_it_is) {
  put_pod(kPinned);
  start("");
  EXPECT_EQ(own_->pinned(kImage), kImage);
}

}  // namespace
}  // namespace autopilot::controller
