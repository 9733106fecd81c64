// SPDX-License-Identifier: Apache-2.0
#include "alerts/webhook.hpp"

#include <map>
#include <utility>

#include "alerts/messages.hpp"
#include "alerts/signature.hpp"
#include "logging/log.hpp"

namespace autopilot::alerts {

Webhook::Webhook(const Surroundings& around, const config::AlertReceiver& receiver)
    : loop_(around.loop),
      clock_(around.clock),
      dice_(around.dice),
      endpoint_(around.loop, receiver, {}, around.read_file, around.run_blocking, [this] {
        // A new address: the request to the old one ended without a reply.
        exchange_.cancel();
        is_sending_ = false;
        pump();
      }) {
  figures_.name = receiver.name;
}

void Webhook::send(const Notice& notice) {
  const bool is_slack = endpoint_.receiver().format == config::AlertFormat::slack;
  waiting_.push_back({is_slack ? slack_json(notice) : webhook_json(notice), clock_.now().mono});
  if (waiting_.size() > kMaxWaiting) {
    // The first one may be in flight.
    waiting_.erase(waiting_.begin() + (is_sending_ ? 1 : 0));
    ++figures_.dropped;
  }
  pump();
}

ReceiverFigures Webhook::figures() const {
  ReceiverFigures figures = figures_;
  figures.waiting = waiting_.size();
  if (!endpoint_.problem().empty()) figures.problem = endpoint_.problem();
  return figures;
}

void Webhook::drop_old() {
  const MonoTime now = clock_.now().mono;
  while (!waiting_.empty() && now - waiting_.front().since > kPatience) {
    waiting_.pop_front();
    ++figures_.dropped;
  }
}

void Webhook::pump() {
  if (is_sending_ || pause_.is_active() || !endpoint_.is_ready()) return;
  drop_old();
  if (waiting_.empty()) return;
  is_sending_ = true;
  const std::string& body = waiting_.front().body;
  std::map<std::string, std::string, std::less<>> headers;
  if (!endpoint_.key().empty())
    headers[std::string(kSignatureHeader)] = sign(endpoint_.key(), clock_.now().wall, body);
  exchange_ = endpoint_.post(body, std::move(headers), [this](const Reply& reply) { take(reply); });
}

void Webhook::take(const Reply& reply) {
  is_sending_ = false;
  if (reply.answer == Answer::accepted) {
    ++figures_.delivered;
    figures_.problem.clear();
    back_off_.reset();
    waiting_.pop_front();
    return pump();
  }
  ++figures_.failed;
  const bool is_refused = reply.answer == Answer::refused;
  if (std::exchange(figures_.problem, reply.why) != reply.why)
    logging::log_warning(is_refused ? "a receiver refused an alert; it is dropped"
                                    : "an alert could not be delivered; it is sent again",
                         {{"receiver", figures_.name}, {"cause", reply.why}});
  if (is_refused) {
    waiting_.pop_front();
    ++figures_.dropped;
    return pump();
  }
  pause_ = loop_.after(back_off_.fail(kRetries, dice_()), [this] { pump(); });
}

}  // namespace autopilot::alerts
