// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "tests/support/net/test_server.hpp"

// For tests of clients of an API server.
namespace autopilot::kube::testing {

class SetClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    constexpr std::chrono::hours begin{1};
    return {WallTime{begin} + time, MonoTime{begin} + time};
  }
  Duration time{0};
};

// A client, a server with scripted responses, and a clock that does not advance.
class ScriptedApi : public ::testing::Test {
 protected:
  void serve(std::vector<net::testing::Scripted> script) {
    server_ = std::make_unique<net::testing::ScriptedServer>(std::move(script));
    client_ = std::make_unique<Client>(
        loop_, net::ServerUrl{false, "127.0.0.1", server_->port(), ""},
        ClientOptions{.user_agent = "test", .field_manager = "test", .deadline = std::chrono::seconds{5}});
  }

  SetClock clock_;
  net::EventLoop loop_;
  std::unique_ptr<net::testing::ScriptedServer> server_;
  std::unique_ptr<Client> client_;
};

}  // namespace autopilot::kube::testing
