// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "alerts/receiver.hpp"
#include "config/alert_receivers.hpp"
#include "jobs/brain.hpp"

namespace autopilot::alerts {

// Sends alerts of the in-flight engine to the configured receivers. The leading controller of a cluster has
// one, and an agent that evaluates jobs itself. On the loop's thread.
class Sender {
 public:
  static constexpr std::size_t kMaxRemembered = 16384;  // findings that a receiver got

  Sender(const Surroundings& around, const std::vector<config::AlertReceiver>& receivers);
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender();

  // reports: those of the jobs of the alerts; without one, an alert has no culprit in its labels. A receiver
  // gets alerts of its least severity and above, and the end of each finding that it got before.
  void send(std::span<const jobs::Alert> alerts, std::span<const jobs::JobReport> reports);

  // The last messages about open findings, which an earlier sender sent: they stay open, and the receivers
  // get their ends.
  void resume(std::span<const jobs::Alert> alerts, std::span<const jobs::JobReport> reports);

  [[nodiscard]] std::vector<ReceiverFigures> figures() const;

 private:
  struct Recipient;

  std::vector<Recipient> recipients_;
};

}  // namespace autopilot::alerts
