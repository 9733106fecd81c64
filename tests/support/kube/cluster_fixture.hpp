// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "kube/cluster_writer.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::kube::testing {

// A writer, and a server in the place of a cluster's that answers what it is told to.
class ClusterFixture : public ::testing::Test {
 protected:
  void serve(std::vector<net::testing::Scripted> script) {
    server_ = std::make_unique<net::testing::ScriptedServer>(std::move(script));
    client_ = std::make_unique<Client>(
        loop_, net::ServerUrl{false, "127.0.0.1", server_->port(), ""},
        ClientOptions{.user_agent = "test", .field_manager = "test", .deadline = std::chrono::seconds{5}});
    writer_ = std::make_unique<ClusterWriter>(loop_, clock_, [] { return 0.5; });
  }
  static constexpr const char* kEmptyList = R"({"items":[]})";
  [[nodiscard]] static net::testing::Scripted ok(const std::string& body) {
    return {net::testing::answer(200, body)};
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  // The beginning of each request: "POST /api/v1/...".
  [[nodiscard]] std::vector<std::string> requests() const {
    std::vector<std::string> lines;
    for (const std::string& request : server_->requests())
      lines.push_back(request.substr(0, request.find_first_of("?\r")));
    return lines;
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::unique_ptr<net::testing::ScriptedServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ClusterWriter> writer_;
};

}  // namespace autopilot::kube::testing
