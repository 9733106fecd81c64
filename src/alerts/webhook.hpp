// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "alerts/endpoint.hpp"
#include "alerts/notice.hpp"
#include "alerts/receiver.hpp"
#include "core/clock.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::alerts {

// A receiver that gets each message once, in order: JSON with a signature, or the form of Slack. A message
// that fails is sent again with increasing waits, and signed again; after kPatience, or if the receiver
// refuses it, it is dropped and counted. On the loop's thread.
class Webhook final : public Receiver {
 public:
  static constexpr std::size_t kMaxWaiting = 1000;  // beyond, the oldest message is dropped
  static constexpr Duration kPatience = std::chrono::hours{1};

  Webhook(const Surroundings& around, const config::AlertReceiver& receiver);

  void send(const Notice& notice) override;
  void resume(const Notice& /*notice*/) override {}  // a message is sent once
  [[nodiscard]] ReceiverFigures figures() const override;

 private:
  struct Message {
    std::string body;
    MonoTime since{};
  };

  void pump();
  void take(const Reply& reply);
  void drop_old();

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<double()> dice_;
  std::deque<Message> waiting_;
  kube::BackOff back_off_;
  ReceiverFigures figures_;
  net::Subscription pause_;
  bool is_sending_ = false;  // the first message
  Endpoint endpoint_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::alerts
