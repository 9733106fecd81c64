// SPDX-License-Identifier: Apache-2.0
#include "alerts/sender.hpp"

#include <utility>

#include "alerts/alertmanager.hpp"
#include "alerts/webhook.hpp"

namespace autopilot::alerts {
namespace {

jobs::Severity severity_of(config::AlertLevel level) {
  switch (level) {
    case config::AlertLevel::info:
      return jobs::Severity::info;
    case config::AlertLevel::ticket:
      return jobs::Severity::ticket;
    case config::AlertLevel::page:
      return jobs::Severity::page;
  }
  return jobs::Severity::info;
}

std::unique_ptr<Receiver> make_receiver(const Surroundings& around, const config::AlertReceiver& receiver) {
  if (receiver.format == config::AlertFormat::alertmanager)
    return std::make_unique<Alertmanager>(around, receiver);
  return std::make_unique<Webhook>(around, receiver);
}

}  // namespace

struct Sender::Recipient {
  std::unique_ptr<Receiver> receiver;
  jobs::Severity least = jobs::Severity::info;
  std::set<std::string> findings{};

  [[nodiscard]] bool wants(const jobs::Alert& alert) {
    if (alert.kind == jobs::AlertKind::resolved) return findings.erase(alert.id) > 0;
    // A finding that got less severe stays known to its receiver.
    if (alert.severity < least) return findings.contains(alert.id);
    if (findings.size() < kMaxRemembered) findings.insert(alert.id);
    return true;
  }
};

Sender::Sender(const Surroundings& around, const std::vector<config::AlertReceiver>& receivers) {
  for (const config::AlertReceiver& receiver : receivers)
    recipients_.push_back({make_receiver(around, receiver), severity_of(receiver.least)});
}

Sender::~Sender() = default;

void Sender::send(std::span<const jobs::Alert> alerts, std::span<const jobs::JobReport> reports) {
  for (const jobs::Alert& alert : alerts) {
    const Notice notice = make_notice(alert, reports);
    for (Recipient& recipient : recipients_)
      if (recipient.wants(alert)) recipient.receiver->send(notice);
  }
}

void Sender::resume(std::span<const jobs::Alert> alerts, std::span<const jobs::JobReport> reports) {
  for (const jobs::Alert& alert : alerts) {
    const Notice notice = make_notice(alert, reports);
    for (Recipient& recipient : recipients_)
      if (recipient.wants(alert)) recipient.receiver->resume(notice);
  }
}

std::vector<ReceiverFigures> Sender::figures() const {
  std::vector<ReceiverFigures> figures;
  for (const Recipient& recipient : recipients_)
    figures.push_back(recipient.receiver->figures());
  return figures;
}

}  // namespace autopilot::alerts
