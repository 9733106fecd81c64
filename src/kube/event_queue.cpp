// SPDX-License-Identifier: Apache-2.0
#include "kube/event_queue.hpp"

#include <boost/json.hpp>
#include <utility>

#include "kube/api_time.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

std::string path_of(const EventWrite& write) {
  return "/api/v1/namespaces/" + write.name_space + "/events";
}

json::object object_json(const EventObject& object) {
  json::object reference{
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}, {"uid", object.uid}};
  if (!object.name_space.empty()) reference["namespace"] = object.name_space;
  return reference;
}

}  // namespace

void EventQueue::note(const EventFact& fact, const Instant& now) {
  auto write = recorder_.record(fact, now);
  if (!write) return;
  if (waiting_.size() >= most_) {
    waiting_.pop_front();
    ++dropped_;
  }
  waiting_.push_back(std::move(*write));
}

EventWrite* EventQueue::next() {
  if (!under_way_ && !waiting_.empty()) {
    under_way_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  return under_way_ ? &*under_way_ : nullptr;
}

void EventQueue::refused(ApiOutcome outcome) {
  if (!under_way_) return;
  const bool is_patch = under_way_->kind == EventWrite::Kind::patch;
  if (is_patch && outcome == ApiOutcome::not_found) {
    under_way_->kind = EventWrite::Kind::create;  // the server no longer has it
  } else if (!is_patch && outcome == ApiOutcome::conflict) {
    under_way_->kind = EventWrite::Kind::patch;  // it arrived, although the response was lost
  } else if (outcome == ApiOutcome::invalid) {
    drop();
  }
}

void EventQueue::drop() {
  under_way_.reset();
  ++dropped_;
}

std::string event_json(const EventWrite& write, const EventSource& source) {
  json::object event{
      {"message", write.message}, {"count", write.count}, {"lastTimestamp", api_time(write.last)}};
  if (write.kind == EventWrite::Kind::create) {
    event["apiVersion"] = "v1";
    event["kind"] = "Event";
    event["metadata"] = json::object{{"name", write.name}, {"namespace", write.name_space}};
    event["involvedObject"] = object_json(write.object);
    event["type"] = to_string(write.type);
    event["reason"] = write.reason;
    event["firstTimestamp"] = api_time(write.first);
    event["source"] = json::object{{"component", source.component}, {"host", source.host}};
    event["reportingComponent"] = source.component;
    event["reportingInstance"] = source.host;
  }
  return json::serialize(event);
}

net::Exchange send_event(Client& client, const EventWrite& write, const EventSource& source,
                         OnObject on_answer) {
  std::string body = event_json(write, source);
  if (write.kind == EventWrite::Kind::create)
    return client.create({path_of(write), {}}, std::move(body), std::move(on_answer));
  return client.patch({path_of(write) + "/" + write.name, {}}, Patch::merge, std::move(body),
                      std::move(on_answer));
}

}  // namespace autopilot::kube
