// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "cli/output/why_page.hpp"
#include "core/parse.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"

namespace autopilot::cli {
namespace {

namespace json = boost::json;
using why::Evidence;

json::string text_value(std::string_view text) {
  const std::string valid = to_utf8(text);
  return json::string(valid.data(), valid.size());
}

void add_text(json::object& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object[name] = text_value(text);
}

json::object json_of(const GpuUser& user) {
  json::object object;
  if (user.pid != 0) object["pid"] = user.pid;
  add_text(object, "process", user.process);
  for (const GpuUserField& field : kGpuUserFields)
    add_text(object, field.name, user.owner.*field.member);
  return object;
}

json::object json_of(const Evidence& evidence, const catalog::Catalog& facts) {
  const Finding& finding = evidence.finding;
  json::object object{
      {"kind", why::to_string(evidence.kind)}, {"what", text_value(finding.message)},
      {"reason", text_value(finding.reason)},  {"subject", text_value(to_string(finding.subject))},
      {"health", to_string(finding.health)},   {"source", text_value(evidence.source)},
      {"bootsAgo", evidence.boots_ago},        {"holdsNow", evidence.holds_now},
      {"count", why::count_of(evidence)}};
  if (finding.since != WallTime{}) object["since"] = format_time(finding.since);
  if (finding.last_seen != WallTime{}) object["lastSeen"] = format_time(finding.last_seen);
  if (finding.injected) object["injected"] = true;
  for (const auto& [name, value] : finding.evidence) {
    if (name == "count" || object.contains(name)) continue;
    if (const auto* number = std::get_if<std::int64_t>(&value))
      object[name] = *number;
    else if (const auto* real = std::get_if<double>(&value))
      object[name] = *real;
    else
      object[name] = text_value(to_string(value));
  }
  json::array users;
  for (const GpuUser& user : evidence.users)
    users.push_back(json_of(user));
  if (!users.empty()) object["users"] = std::move(users);
  add_text(object, "advice", advice_on(evidence, facts));
  add_text(object, "next", next_command(evidence, facts));
  return object;
}

json::array json_of(const std::vector<Evidence>& evidence, const catalog::Catalog& facts) {
  json::array all;
  for (const Evidence& one : evidence)
    all.push_back(json_of(one, facts));
  return all;
}

json::object json_of(const why::FoundCause& cause, const catalog::Catalog& facts) {
  json::object object = json_of(cause.main, facts);
  object["certainty"] = why::to_string(cause.certainty);
  object["fault"] = to_string(cause.end);
  add_text(object, "because", cause.grounds);
  if (cause.still_holds) object["stillHolds"] = *cause.still_holds;
  object["consequences"] = json_of(cause.consequences, facts);
  return object;
}

json::object json_of(const why::Source& source) {
  json::object object{{"name", text_value(source.name)}, {"read", source.problem.empty()}};
  add_text(object, "detail", source.detail);
  add_text(object, "problem", source.problem);
  add_text(object, "remedy", source.remedy);
  return object;
}

}  // namespace

std::string why_json(const why::Report& report, const catalog::Catalog& facts) {
  json::array causes;
  for (const why::FoundCause& cause : report.explanation.causes)
    causes.push_back(json_of(cause, facts));
  json::array sources;
  for (const why::Source& source : report.sources)
    sources.push_back(json_of(source));
  json::object object{{"node", text_value(report.node)},
                      {"time", format_time(report.now)},
                      {"simulated", report.is_simulated},
                      {"target", text_value(report.target.text)},
                      {"causes", std::move(causes)},
                      {"inOrder", json_of(report.explanation.order, facts)},
                      {"seen", json_of(report.explanation.seen, facts)},
                      {"sources", std::move(sources)}};
  if (report.since != WallTime{}) object["since"] = format_time(report.since);
  return json::serialize(object);
}

}  // namespace autopilot::cli
