// SPDX-License-Identifier: Apache-2.0
#include "agent/exporters/event_writer.hpp"

#include <boost/json.hpp>

#include "agent/exporters/api_time.hpp"
#include "agent/exporters/event_words.hpp"

namespace autopilot::agent {

namespace json = boost::json;

namespace {

constexpr std::size_t kIncidentsKept = 256;

std::string path_of(const kube::EventWrite& write) {
  return "/api/v1/namespaces/" + write.name_space + "/events";
}

json::object object_json(const kube::EventObject& object) {
  json::object reference{
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}, {"uid", object.uid}};
  if (!object.name_space.empty()) reference["namespace"] = object.name_space;
  return reference;
}

}  // namespace

std::string event_json(const kube::EventWrite& write, const std::string& node) {
  json::object event{
      {"message", write.message}, {"count", write.count}, {"lastTimestamp", api_time(write.last)}};
  if (write.kind == kube::EventWrite::Kind::create) {
    event["apiVersion"] = "v1";
    event["kind"] = "Event";
    event["metadata"] = json::object{{"name", write.name}, {"namespace", write.name_space}};
    event["involvedObject"] = object_json(write.object);
    event["type"] = kube::to_string(write.type);
    event["reason"] = write.reason;
    event["firstTimestamp"] = api_time(write.first);
    event["source"] = json::object{{"component", "autopilot-agent"}, {"host", node}};
    event["reportingComponent"] = "autopilot-agent";
    event["reportingInstance"] = node;
  }
  return json::serialize(event);
}

EventWriter::EventWriter(kube::Client& client, ClusterWriter& writer, const Clock& clock, std::string node)
    : client_(client), writer_(writer), clock_(clock), node_(std::move(node)), told_(kIncidentsKept) {
  ClusterWriter::Source source;
  source.what = "an event about the node";
  source.send = [this](kube::OnObject on_answer) { return send(std::move(on_answer)); };
  source.on_written = [this](const std::string&) {
    under_way_.reset();
    go_on();
  };
  source.on_failed = [this](const kube::ApiError& why) { take_refusal(why.verdict.outcome); };
  writer_.add(WriteKind::event, std::move(source));
}

void EventWriter::see(const kube::Node& node) {
  uid_ = node.meta.uid;
  go_on();
}

void EventWriter::go_on() {
  if (!uid_.empty() && (under_way_ || !waiting_.empty())) writer_.want(WriteKind::event);
}

void EventWriter::note(const std::vector<Event>& events, const NodeSnapshot& snapshot) {
  for (const Event& event : events)
    if (is_news(event)) note(fact_of(event, snapshot));
}

bool EventWriter::is_news(const Event& event) {
  const Value* id = find_attribute(event.details, "incident");
  if (id == nullptr || event.kind == EventKind::incident_closed) return true;
  const Value* action = find_attribute(event.details, "action");
  const Told now{event.health, action == nullptr ? "" : to_string(*action)};
  return std::exchange(told_.get(to_string(*id), {}), now) != now;
}

void EventWriter::note(kube::EventFact fact) {
  fact.object = {"v1", "Node", "", node_, uid_};
  auto write = recorder_.record(fact, clock_.now());
  if (!write) return;
  if (waiting_.size() >= kMaxWaiting) {
    waiting_.pop_front();
    ++dropped_;
  }
  waiting_.push_back(std::move(*write));
  go_on();
}

std::optional<net::Exchange> EventWriter::send(kube::OnObject on_answer) {
  if (!under_way_ && !waiting_.empty()) {
    under_way_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  if (!under_way_) return std::nullopt;
  under_way_->object.uid = uid_;
  const kube::EventWrite& write = *under_way_;
  std::string body = event_json(write, node_);
  if (write.kind == kube::EventWrite::Kind::create)
    return client_.create({path_of(write), {}}, std::move(body), std::move(on_answer));
  return client_.patch({path_of(write) + "/" + write.name, {}}, kube::Patch::merge, std::move(body),
                       std::move(on_answer));
}

void EventWriter::take_refusal(kube::ApiOutcome outcome) {
  if (!under_way_) return;
  const bool is_patch = under_way_->kind == kube::EventWrite::Kind::patch;
  if (is_patch && outcome == kube::ApiOutcome::not_found) {
    under_way_->kind = kube::EventWrite::Kind::create;  // the server has forgotten it
  } else if (!is_patch && outcome == kube::ApiOutcome::conflict) {
    under_way_->kind = kube::EventWrite::Kind::patch;  // it arrived, although no answer said so
  } else if (outcome == kube::ApiOutcome::invalid) {
    under_way_.reset();
    ++dropped_;
  }
}

}  // namespace autopilot::agent
