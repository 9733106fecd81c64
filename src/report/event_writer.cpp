// SPDX-License-Identifier: Apache-2.0
#include "report/event_writer.hpp"

#include <utility>

#include "report/event_words.hpp"

namespace autopilot::report {
namespace {

constexpr std::size_t kIncidentsKept = 256;

}  // namespace

EventWriter::EventWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock,
                         std::string node)
    : client_(client),
      writer_(writer),
      clock_(clock),
      node_(std::move(node)),
      queue_(kMaxWaiting),
      told_(kIncidentsKept) {
  kube::ClusterWriter::Source source;
  source.what = "an event about the node";
  source.send = [this](kube::OnObject on_answer) { return send(std::move(on_answer)); };
  source.on_written = [this](const std::string&) {
    queue_.written();
    go_on();
  };
  source.on_failed = [this](const kube::ApiError& why) { queue_.refused(why.verdict.outcome); };
  writer_.add(kube::WriteKind::event, std::move(source));
}

void EventWriter::see(const kube::Node& node) {
  uid_ = node.meta.uid;
  go_on();
}

void EventWriter::go_on() {
  if (!uid_.empty() && queue_.has_next()) writer_.want(kube::WriteKind::event);
}

void EventWriter::note(const std::vector<Event>& events, const NodeSnapshot& snapshot) {
  for (const Event& event : events)
    if (is_news(event)) tell(fact_of(event, snapshot));
}

bool EventWriter::is_news(const Event& event) {
  const Value* id = find_attribute(event.details, "incident");
  if (id == nullptr || event.kind == EventKind::incident_closed) return true;
  const Value* action = find_attribute(event.details, "action");
  const Told now{event.health, action == nullptr ? "" : to_string(*action)};
  return std::exchange(told_.get(to_string(*id), {}), now) != now;
}

void EventWriter::tell(kube::EventFact fact) {
  fact.object = {"v1", "Node", "", node_, uid_};
  queue_.note(fact, clock_.now());
  go_on();
}

std::optional<net::Exchange> EventWriter::send(kube::OnObject on_answer) {
  kube::EventWrite* write = queue_.next();
  if (write == nullptr) return std::nullopt;
  write->object.uid = uid_;
  return kube::send_event(client_, *write, {"autopilot-agent", node_}, std::move(on_answer));
}

}  // namespace autopilot::report
