// SPDX-License-Identifier: Apache-2.0
#include "agent/exporters/node_writer.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "telemetry/log.hpp"

namespace autopilot::agent {

namespace json = boost::json;

namespace {

constexpr Duration kLookAtHeartbeat = std::chrono::seconds{15};

std::string path_of(const std::string& node) {
  return "/api/v1/nodes/" + node;
}

kube::WatchOptions watch_of(const std::string& node) {
  kube::WatchOptions options;
  options.list = {"/api/v1/nodes", {{"fieldSelector", "metadata.name=" + node}}};
  return options;
}

const kube::NodeCondition* find(const kube::Node& node, const std::string& type) {
  const auto found = std::ranges::find(node.conditions, type, &kube::NodeCondition::type);
  return found == node.conditions.end() ? nullptr : &*found;
}

bool says(const kube::Node& node, const ConditionWords& words) {
  const kube::NodeCondition* there = find(node, words.type);
  return there != nullptr && there->status == words.status && there->reason == words.reason &&
         there->message == words.message;
}

std::string_view text_of(const std::map<std::string, std::string, std::less<>>& texts,
                         const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : std::string_view(found->second);
}

// Whole seconds: that is how the API keeps times.
std::string api_time(WallTime time) {
  const std::string text = format_time(time);
  return text.substr(0, text.find('.')) + "Z";
}

}  // namespace

NodeWriter::NodeWriter(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                       NodeWriterOptions options, std::function<double()> random,
                       std::function<void(const kube::Node&)> on_node)
    : loop_(loop),
      client_(client),
      clock_(clock),
      options_(std::move(options)),
      random_(std::move(random)),
      on_node_(std::move(on_node)),
      watch_(loop, client, watch_of(options_.node),
             {[] {}, [this](const kube::JsonObject& object) { see(kube::parse_node(object)); }, [] {},
              [this](const kube::JsonObject& object) { see(kube::parse_node(object)); },
              [this](const kube::JsonObject&) { node_.reset(); },
              [this](const kube::ApiError& error) { say("seen", error.error.what); }},
             random_) {}

void NodeWriter::start() {
  watch_.start();
  heartbeat_ = loop_.every(kLookAtHeartbeat, [this] { compare(); });
}

void NodeWriter::note(NodeWords words) {
  if (words_ == words) return;
  words_ = std::move(words);
  compare();
}

void NodeWriter::see(kube::Node node) {
  on_node_(node_.emplace(std::move(node)));
  compare();
}

void NodeWriter::compare() {
  if (!node_ || !words_) return;
  const MonoTime now = clock_.now().mono;
  const kube::Node& node = *node_;
  const bool is_due = has_old_heartbeat(node);
  const bool has_label = text_of(node.meta.labels, options_.prefix + "/gpuhealth") == words_->gpuhealth &&
                         text_of(node.meta.annotations, options_.prefix + "/summary") == words_->summary;
  if (!has_label || is_due) order_.want(WriteKind::label, now);
  const bool has_conditions =
      std::ranges::all_of(words_->conditions, [&node](const ConditionWords& one) { return says(node, one); });
  if (!has_conditions || is_due) order_.want(WriteKind::conditions, now);
  pump();
}

bool NodeWriter::has_old_heartbeat(const kube::Node& node) const {
  const auto checked = parse_time(text_of(node.meta.annotations, options_.prefix + "/checked-at"));
  const WallTime now = clock_.now().wall;
  // A clock that was put back must not keep the node silent.
  return !checked || now - *checked >= options_.heartbeat || *checked - now >= options_.heartbeat;
}

void NodeWriter::pump() {
  if (exchange_.is_active() || !node_ || !words_) return;
  const MonoTime now = clock_.now().mono;
  const auto kind = order_.take(now);
  if (!kind) {
    if (const auto next = order_.next()) next_ = loop_.at(*next, [this] { pump(); });
    return;
  }
  const auto on_answer = [this, kind = *kind](const kube::ApiResult<std::string>& answer) {
    take_answer(kind, answer);
  };
  if (*kind == WriteKind::label)
    exchange_ =
        client_.patch({path_of(options_.node), {}}, kube::Patch::merge, label_patch(*words_), on_answer);
  else
    exchange_ = client_.patch({path_of(options_.node) + "/status", {}}, kube::Patch::strategic_merge,
                              conditions_patch(*node_, *words_), on_answer);
}

void NodeWriter::take_answer(WriteKind kind, const kube::ApiResult<std::string>& answer) {
  if (!answer) {
    ++stats_.failures;
    say("written", answer.error().error.what);
    const MonoTime now = clock_.now().mono;
    order_.failed(kind, now, now + back_off_.fail({}, random_(), answer.error().retry_after));
    pump();
    return;
  }
  ++stats_.writes;
  stats_.problem.clear();
  back_off_.reset();
  // What the server made of it; the watch will tell the same later.
  if (auto node = kube::parse_node(*answer))
    see(std::move(*node));
  else
    pump();
}

// Once, not at every try.
void NodeWriter::say(std::string_view what, const std::string& problem) {
  if (stats_.problem != problem)
    telemetry::log_warning("the node object cannot be " + std::string(what), {{"cause", problem}});
  stats_.problem = problem;
}

std::string NodeWriter::label_patch(const NodeWords& words) const {
  json::value label = nullptr;  // takes it away
  if (!words.gpuhealth.empty()) label = words.gpuhealth;
  const json::object metadata{
      {"labels", json::object{{options_.prefix + "/gpuhealth", std::move(label)}}},
      {"annotations", json::object{{options_.prefix + "/summary", words.summary},
                                   {options_.prefix + "/checked-at", api_time(clock_.now().wall)}}}};
  return json::serialize(json::object{{"metadata", metadata}});
}

std::string NodeWriter::conditions_patch(const kube::Node& node, const NodeWords& words) const {
  const WallTime now = clock_.now().wall;
  json::array conditions;
  for (const ConditionWords& one : words.conditions) {
    const kube::NodeCondition* there = find(node, one.type);
    const bool is_same = there != nullptr && there->status == one.status && there->transition;
    conditions.push_back(json::object{{"type", one.type},
                                      {"status", one.status},
                                      {"reason", one.reason},
                                      {"message", one.message},
                                      {"lastHeartbeatTime", api_time(now)},
                                      {"lastTransitionTime", api_time(is_same ? *there->transition : now)}});
  }
  return json::serialize(json::object{{"status", json::object{{"conditions", std::move(conditions)}}}});
}

}  // namespace autopilot::agent
