// SPDX-License-Identifier: Apache-2.0
#include "alerts/alertmanager.hpp"

#include <algorithm>

#include "logging/log.hpp"

namespace autopilot::alerts {

Alertmanager::Alertmanager(const Surroundings& around, const config::AlertReceiver& receiver)
    : loop_(around.loop),
      clock_(around.clock),
      dice_(around.dice),
      endpoint_(around.loop, receiver, "/api/v2/alerts", around.read_file, around.run_blocking, [this] {
        // A new address: the request to the old one ended without a reply.
        exchange_.cancel();
        is_sending_ = false;
        pump();
      }) {
  figures_.name = receiver.name;
  round_ = loop_.every(kEvery, [this] {
    for (const auto& [key, held] : held_)
      due_.insert(key);
    pump();
  });
}

void Alertmanager::send(const Notice& notice) {
  const std::string severity(alertmanager_severity(notice.alert.severity));
  if (notice.alert.kind == jobs::AlertKind::resolved) {
    end(notice, {});
  } else {
    end(notice, severity);
    open({notice.alert.id, severity}, notice);
  }
  pump();
}

void Alertmanager::open(const Key& key, const Notice& notice) {
  if (!held_.contains(key) && held_.size() >= kMaxOpen) {
    ++figures_.dropped;
    return;
  }
  held_[key] = {alertmanager_alert(notice), ++versions_};
  due_.insert(key);
}

// The alerts of the finding with another severity. The end has the labels of the begin.
void Alertmanager::end(const Notice& notice, const std::string& except_severity) {
  const std::string& id = notice.alert.id;
  for (auto at = held_.lower_bound({id, {}}); at != held_.end() && at->first.first == id; ++at) {
    if (at->first.second == except_severity || at->second.alert.ends_at) continue;
    Held& held = at->second;
    if (except_severity.empty()) held.alert.annotations = alertmanager_alert(notice).annotations;
    held.alert.ends_at = std::max(notice.alert.time, held.alert.starts_at);
    held.version = ++versions_;
    due_.insert(at->first);
  }
}

ReceiverFigures Alertmanager::figures() const {
  ReceiverFigures figures = figures_;
  figures.waiting = due_.size();
  if (!endpoint_.problem().empty()) figures.problem = endpoint_.problem();
  return figures;
}

void Alertmanager::pump() {
  if (is_sending_ || pause_.is_active() || !endpoint_.is_ready() || due_.empty()) return;
  std::vector<AlertmanagerAlert> alerts;
  std::vector<std::pair<Key, std::uint64_t>> sent;
  const WallTime until = clock_.now().wall + kValidFor;
  for (auto key = due_.begin(); key != due_.end() && sent.size() < kMaxInRequest;) {
    const auto held = held_.find(*key);
    if (held == held_.end()) {
      key = due_.erase(key);
      continue;
    }
    alerts.push_back(held->second.alert);
    if (!alerts.back().ends_at) alerts.back().ends_at = until;
    sent.emplace_back(*key, held->second.version);
    ++key;
  }
  if (sent.empty()) return;
  is_sending_ = true;
  exchange_ = endpoint_.post(alertmanager_json(alerts), {},
                             [this, sent = std::move(sent)](const Reply& reply) { take(sent, reply); });
}

void Alertmanager::take(const std::vector<std::pair<Key, std::uint64_t>>& sent, const Reply& reply) {
  is_sending_ = false;
  const bool is_final = reply.answer != Answer::later;
  if (reply.answer == Answer::accepted) {
    ++figures_.delivered;
    figures_.problem.clear();
    back_off_.reset();
  } else {
    ++figures_.failed;
    if (std::exchange(figures_.problem, reply.why) != reply.why)
      logging::log_warning("alerts could not be delivered to Alertmanager; they are sent again",
                           {{"receiver", figures_.name}, {"cause", reply.why}});
  }
  for (const auto& [key, version] : sent) {
    const auto held = held_.find(key);
    // Changed meanwhile: it is sent again.
    if (!is_final || held == held_.end() || held->second.version != version) continue;
    due_.erase(key);
    if (!held->second.alert.ends_at) continue;
    held_.erase(held);
    if (reply.answer == Answer::refused) ++figures_.dropped;
  }
  if (is_final) return pump();
  pause_ = loop_.after(back_off_.fail(kRetries, dice_()), [this] { pump(); });
}

}  // namespace autopilot::alerts
