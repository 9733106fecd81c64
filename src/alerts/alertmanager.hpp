// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alerts/endpoint.hpp"
#include "alerts/messages.hpp"
#include "alerts/notice.hpp"
#include "alerts/receiver.hpp"
#include "core/clock.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::alerts {

// An Alertmanager, over its API v2. An open alert is sent every minute with an end that is kValidFor ahead:
// it stays while we run, and resolves by itself if we do not. Its end is sent until it is accepted once. A
// finding whose severity changes is another alert, because labels are the identity: the old one ends. On
// the loop's thread.
class Alertmanager final : public Receiver {
 public:
  static constexpr Duration kEvery = std::chrono::minutes{1};
  static constexpr Duration kValidFor = std::chrono::minutes{5};
  static constexpr std::size_t kMaxOpen = 8192;  // beyond, a new alert is dropped
  static constexpr std::size_t kMaxInRequest = 100;

  Alertmanager(const Surroundings& around, const config::AlertReceiver& receiver);

  void send(const Notice& notice) override;
  void resume(const Notice& notice) override { send(notice); }  // so that it stays open
  [[nodiscard]] ReceiverFigures figures() const override;

 private:
  using Key = std::pair<std::string, std::string>;  // finding, severity
  struct Held {
    AlertmanagerAlert alert;    // ends_at: it has ended
    std::uint64_t version = 0;  // of its last change
  };

  void open(const Key& key, const Notice& notice);
  void end(const Notice& notice, const std::string& except_severity);
  void pump();
  void take(const std::vector<std::pair<Key, std::uint64_t>>& sent, const Reply& reply);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<double()> dice_;
  std::map<Key, Held> held_;
  std::set<Key> due_;
  std::uint64_t versions_ = 0;
  kube::BackOff back_off_;
  ReceiverFigures figures_;
  net::Subscription round_;
  net::Subscription pause_;
  bool is_sending_ = false;
  Endpoint endpoint_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::alerts
