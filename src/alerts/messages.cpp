// SPDX-License-Identifier: Apache-2.0
#include "alerts/messages.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>

#include "core/text.hpp"

namespace autopilot::alerts {

namespace json = boost::json;

namespace {

constexpr std::string_view kRunbook = "docs/alerts.md#alerts-about-jobs";
constexpr std::size_t kSlackTitle = 150;  // limits of Slack's blocks
constexpr std::size_t kSlackBody = 2900;

std::string_view kind_word(jobs::AlertKind kind) {
  switch (kind) {
    case jobs::AlertKind::raised:
      return "raised";
    case jobs::AlertKind::changed:
      return "changed";
    case jobs::AlertKind::resolved:
      return "resolved";
  }
  return {};
}

json::object culprit_json(const jobs::Entity& culprit) {
  json::object object{{"text", jobs::to_string(culprit)}, {"named", culprit.is_accused()}};
  if (!culprit.node.empty()) object["node"] = culprit.node;
  if (culprit.gpu >= 0) object["gpu"] = culprit.gpu;
  if (!culprit.nic.empty()) object["nic"] = culprit.nic;
  return object;
}

// Slack treats only these three characters as control characters.
std::string slack_escape(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  return out;
}

// The body is shown as it is: a backtick would end the block of preformatted text.
std::string preformatted(std::string_view text) {
  std::string body(text);
  std::ranges::replace(body, '`', '\'');
  std::string escaped = slack_escape(body);
  if (escaped.size() > kSlackBody) {
    std::string cut(cut_utf8(escaped, kSlackBody));
    // Not in the middle of an escape.
    if (const auto at = cut.rfind('&'); at != std::string::npos && cut.find(';', at) == std::string::npos)
      cut.resize(at);
    escaped = cut + "\n...";
  }
  return "```" + escaped + "```";
}

std::string_view slack_sign(const Notice& notice) {
  if (notice.alert.kind == jobs::AlertKind::resolved) return "[RESOLVED] ";
  switch (notice.alert.severity) {
    case jobs::Severity::page:
      return "[PAGE] ";
    case jobs::Severity::ticket:
      return "[TICKET] ";
    case jobs::Severity::info:
      return "[INFO] ";
  }
  return {};
}

json::object to_json(const std::map<std::string, std::string>& texts) {
  json::object object;
  for (const auto& [name, text] : texts)
    object[name] = text;
  return object;
}

}  // namespace

Labels labels_of(const Notice& notice) {
  Labels labels{{"alertname", std::string(alert_name(notice.effect))},
                {"job", notice.alert.job},
                {"severity", std::string(alertmanager_severity(notice.alert.severity))},
                {"effect", std::string(jobs::to_string(notice.effect))},
                {"finding", notice.alert.id}};
  const jobs::Entity& culprit = notice.culprit;
  if (!culprit.node.empty()) labels[culprit.kind == jobs::EntityKind::leaf ? "leaf" : "node"] = culprit.node;
  if (culprit.gpu >= 0) labels["gpu"] = std::to_string(culprit.gpu);
  if (!culprit.nic.empty()) labels["nic"] = culprit.nic;
  return labels;
}

AlertmanagerAlert alertmanager_alert(const Notice& notice) {
  return {.labels = labels_of(notice),
          .annotations = {{"summary", notice.alert.title},
                          {"description", notice.alert.body},
                          {"runbook_url", std::string(kRunbook)}},
          .starts_at = notice.onset,
          .ends_at = std::nullopt};
}

std::string alertmanager_json(std::span<const AlertmanagerAlert> alerts) {
  json::array list;
  for (const AlertmanagerAlert& alert : alerts) {
    json::object object{{"labels", to_json(alert.labels)},
                        {"annotations", to_json(alert.annotations)},
                        {"startsAt", format_time(alert.starts_at)}};
    if (alert.ends_at) object["endsAt"] = format_time(*alert.ends_at);
    list.push_back(std::move(object));
  }
  return json::serialize(list);
}

std::string webhook_json(const Notice& notice) {
  const jobs::Alert& alert = notice.alert;
  return json::serialize(json::object{{"version", 1},
                                      {"finding", alert.id},
                                      {"kind", kind_word(alert.kind)},
                                      {"severity", jobs::to_string(alert.severity)},
                                      {"time", format_time(alert.time)},
                                      {"since", format_time(notice.onset)},
                                      {"job", alert.job},
                                      {"name", notice.job_name},
                                      {"owner", notice.owner},
                                      {"effect", jobs::to_string(notice.effect)},
                                      {"culprit", culprit_json(notice.culprit)},
                                      {"choice", jobs::to_string(notice.choice)},
                                      {"title", alert.title},
                                      {"body", alert.body}});
}

std::string slack_json(const Notice& notice) {
  const std::string title = std::string(slack_sign(notice)) + notice.alert.title;
  const json::object header{
      {"type", "header"},
      {"text", json::object{{"type", "plain_text"}, {"text", std::string(cut_utf8(title, kSlackTitle))}}}};
  const json::object section{
      {"type", "section"},
      {"text", json::object{{"type", "mrkdwn"}, {"text", preformatted(notice.alert.body)}}}};
  return json::serialize(
      json::object{{"text", slack_escape(title)}, {"blocks", json::array{header, section}}});
}

}  // namespace autopilot::alerts
