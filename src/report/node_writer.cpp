// SPDX-License-Identifier: Apache-2.0
#include "report/node_writer.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "kube/objects.hpp"
#include "logging/log.hpp"

namespace autopilot::report {

namespace json = boost::json;

namespace {

constexpr Duration kLookAtHeartbeat = std::chrono::seconds{15};
// One of the six lists per minute of an agent, like the list of pods (Attribution); the diagnostics use the
// other four (ListBudget).
constexpr Duration kBetweenLists = std::chrono::seconds{61};
constexpr int kSilent = 3;  // missing heartbeats after which the other agent counts as stopped

std::string path_of(const std::string& node) {
  return "/api/v1/nodes/" + node;
}

kube::WatchOptions watch_of(const std::string& node) {
  kube::WatchOptions options;
  options.list = {"/api/v1/nodes", {{"fieldSelector", "metadata.name=" + node}}};
  options.between_lists = kBetweenLists;
  return options;
}

const kube::NodeCondition* find(const kube::Node& node, const std::string& type) {
  const auto found = std::ranges::find(node.conditions, type, &kube::NodeCondition::type);
  return found == node.conditions.end() ? nullptr : &*found;
}

bool says(const kube::Node& node, const ConditionWords& words) {
  const kube::NodeCondition* there = find(node, words.type);
  return there != nullptr && there->status == words.status && there->reason == words.reason;
}

bool says_in_detail(const kube::Node& node, const ConditionWords& words) {
  return says(node, words) && find(node, words.type)->message == words.message;
}

std::string_view text_of(const std::map<std::string, std::string, std::less<>>& texts,
                         const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

NodeWriter::NodeWriter(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer,
                       const Clock& clock, NodeWriterOptions options, std::function<double()> random,
                       std::function<void(const kube::Node&)> on_node)
    : loop_(loop),
      client_(client),
      writer_(writer),
      clock_(clock),
      options_(std::move(options)),
      on_node_(std::move(on_node)),
      watch_(loop, client, watch_of(options_.node),
             {[] {}, [this](const kube::JsonObject& object) { see(kube::parse_node(object)); }, [] {},
              [this](const kube::JsonObject& object) { see(kube::parse_node(object)); },
              [this](const kube::JsonObject&) { node_.reset(); }, [this] { hear(); },
              [this](const kube::ApiError& error) { say("it cannot be read: " + error.error.what); }},
             std::move(random)) {
  writer_.add(kube::WriteKind::label, source([this](kube::OnObject on_answer) {
                return client_.patch({path_of(options_.node), {}}, kube::Patch::merge, label_patch(*words_),
                                     std::move(on_answer));
              }));
  writer_.add(kube::WriteKind::conditions, source([this](kube::OnObject on_answer) {
                return client_.patch({path_of(options_.node) + "/status", {}}, kube::Patch::strategic_merge,
                                     conditions_patch(*node_, *words_), std::move(on_answer));
              }));
}

kube::ClusterWriter::Source NodeWriter::source(std::function<net::Exchange(kube::OnObject on_answer)> send) {
  kube::ClusterWriter::Source source;
  source.what = "the node object";
  source.send = [this, send = std::move(send)](kube::OnObject on_answer) -> std::optional<net::Exchange> {
    if (!node_ || !words_) return std::nullopt;
    return send(std::move(on_answer));
  };
  // The object as the server stored it; the watch delivers the same version later.
  source.on_written = [this](const std::string& json) {
    if (auto node = kube::parse_node(json)) see(std::move(*node));
  };
  return source;
}

void NodeWriter::start() {
  watch_.start();
  heartbeat_ = loop_.every(kLookAtHeartbeat, [this] { compare(Depth::details); });
}

void NodeWriter::note(NodeWords words) {
  if (words_ == words) return;
  words_ = std::move(words);
  compare(Depth::words);
}

// Decides which agent writes before any writer acts on the object.
void NodeWriter::see(kube::Node node) {
  node_.emplace(std::move(node));
  listen(*node_);
  writer_.hold(must_yield(*node_));
  on_node_(*node_);
  hear();
  compare(Depth::words);
}

// Detects another agent that writes this node. The first version may be of an agent that has stopped.
void NodeWriter::listen(const kube::Node& node) {
  const std::string_view by = text_of(node.meta.annotations, options_.prefix + "/checked-by");
  std::string mark =
      std::string(by) + " " + std::string(text_of(node.meta.annotations, options_.prefix + "/checked-at"));
  if (!first_mark_) first_mark_ = mark;
  if (by != options_.instance && mark != *first_mark_ && mark != last_mark_)
    heard_ = {std::string(by), clock_.now().mono};
  last_mark_ = std::move(mark);
}

void NodeWriter::hear() {
  if (!node_ || !must_yield(*node_)) problem_.clear();
}

void NodeWriter::compare(Depth depth) {
  if (!node_ || !words_) return;
  const kube::Node& node = *node_;
  const bool is_yielding = must_yield(node);
  writer_.hold(is_yielding);
  if (is_yielding) {
    say("another agent writes it: " +
        std::string(text_of(node.meta.annotations, options_.prefix + "/checked-by")));
    return;
  }
  const bool is_mine = text_of(node.meta.annotations, options_.prefix + "/checked-by") == options_.instance;
  const bool is_due = has_old_heartbeat(node);
  if (!has_labels(node, *words_) || !is_mine || is_due) writer_.want(kube::WriteKind::label);
  const auto is_there = [&](const ConditionWords& one) { return says(node, one); };
  if (!std::ranges::all_of(words_->conditions, is_there) || is_due) writer_.want(kube::WriteKind::conditions);
  if (depth == Depth::details) compare_texts(node, *words_);
}

// The state of a starting agent changes often in its first moments: writing each change at once would use up
// the writes of the whole minute.
void NodeWriter::compare_texts(const kube::Node& node, const NodeWords& words) {
  if (text_of(node.meta.annotations, options_.prefix + "/summary") != words.summary)
    writer_.want(kube::WriteKind::label, kube::WriteUrgency::text);
  const auto is_there = [&](const ConditionWords& one) { return says_in_detail(node, one); };
  if (!std::ranges::all_of(words.conditions, is_there))
    writer_.want(kube::WriteKind::conditions, kube::WriteUrgency::text);
}

bool NodeWriter::has_labels(const kube::Node& node, const NodeWords& words) const {
  const std::string prefix = options_.prefix + "/";
  if (text_of(node.meta.labels, prefix + "gpuhealth") != words.gpuhealth) return false;
  if (!words.deep_test) return true;
  const diagnostics::DeepTestWords& test = *words.deep_test;
  return text_of(node.meta.labels, prefix + test.name) == test.label &&
         text_of(node.meta.annotations, prefix + test.name + ".output") == test.output;
}

bool NodeWriter::must_yield(const kube::Node& node) const {
  const std::string_view other = text_of(node.meta.annotations, options_.prefix + "/checked-by");
  return other > options_.instance && heard_ && heard_->from == other &&
         clock_.now().mono - heard_->at < kSilent * options_.heartbeat;
}

bool NodeWriter::has_old_heartbeat(const kube::Node& node) const {
  const auto checked = parse_time(text_of(node.meta.annotations, options_.prefix + "/checked-at"));
  const WallTime now = clock_.now().wall;
  // A clock that was set back must not stop the heartbeat.
  return !checked || now - *checked >= options_.heartbeat || *checked - now >= options_.heartbeat;
}

// Logs each problem once, not at every attempt.
void NodeWriter::say(const std::string& problem) {
  const std::string before = std::exchange(problem_, "the node object: " + problem);
  if (problem_ != before) logging::log_warning(problem_);
}

std::string NodeWriter::label_patch(const NodeWords& words) const {
  json::value label = nullptr;  // takes it away
  if (!words.gpuhealth.empty()) label = words.gpuhealth;
  const std::string prefix = options_.prefix + "/";
  json::object labels{{prefix + "gpuhealth", std::move(label)}};
  json::object annotations{{prefix + "summary", words.summary},
                           {prefix + "checked-at", kube::api_time(clock_.now().wall)},
                           {prefix + "checked-by", options_.instance}};
  if (words.deep_test) {
    labels[prefix + words.deep_test->name] = words.deep_test->label;
    annotations[prefix + words.deep_test->name + ".output"] = words.deep_test->output;
  }
  const json::object metadata{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}};
  return json::serialize(json::object{{"metadata", metadata}});
}

std::string NodeWriter::conditions_patch(const kube::Node& node, const NodeWords& words) const {
  const WallTime now = clock_.now().wall;
  json::array conditions;
  for (const ConditionWords& one : words.conditions) {
    const kube::NodeCondition* there = find(node, one.type);
    const bool is_same = there != nullptr && there->status == one.status && there->transition;
    conditions.push_back(
        json::object{{"type", one.type},
                     {"status", one.status},
                     {"reason", one.reason},
                     {"message", one.message},
                     {"lastHeartbeatTime", kube::api_time(now)},
                     {"lastTransitionTime", kube::api_time(is_same ? *there->transition : now)}});
  }
  return json::serialize(json::object{{"status", json::object{{"conditions", std::move(conditions)}}}});
}

}  // namespace autopilot::report
