// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_tester.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "diagnostics/cluster/own_pod.hpp"
#include "logging/log.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

using Kind = DeepTestStep::Kind;
using kube::ApiOutcome;
using logging::log_info;
using logging::log_warning;

// Limits of each wait, because a clock may be set and the other agent of the node may stop.
constexpr Duration kLongestWait = std::chrono::minutes{1};
constexpr Duration kShortestWait = std::chrono::milliseconds{50};
constexpr Duration kWhileHeld = std::chrono::seconds{15};
constexpr std::size_t kListsOfSight = 2;

bool is_write(Kind kind) {
  return kind != Kind::wait && kind != Kind::look;
}

std::string_view word_of(Kind kind) {
  switch (kind) {
    case Kind::ask:
      return "the controller is asked";
    case Kind::give_back:
      return "the controller's permission is returned";
    case Kind::reserve:
      return "the node is reserved";
    case Kind::create_job:
      return "the test begins";
    case Kind::delete_job:
      return "a test is ended";
    default:
      return "the node is released";
  }
}

// Version 0: the server answers from its cache. Otherwise it reads the newest state.
kube::ApiPath list_path(std::string path, const std::string& selector, std::string value, bool is_glance) {
  kube::ApiPath list{std::move(path), {{selector, std::move(value)}}};
  if (is_glance) list.query["resourceVersion"] = "0";
  return list;
}

std::string jobs_path(const std::string& name_space, const std::string& name = {}) {
  return "/apis/batch/v1/namespaces/" + name_space + "/jobs" + (name.empty() ? "" : "/" + name);
}

// Treats errors for which `is_as_good` returns true as success.
kube::OnObject forgiving(bool (*is_as_good)(const kube::ApiError& why), kube::OnObject on_answer) {
  return [is_as_good, on_answer = std::move(on_answer)](kube::ApiResult<std::string> answer) {
    if (!answer && is_as_good(answer.error())) answer = std::string();
    on_answer(std::move(answer));
  };
}

bool is_there_already(const kube::ApiError& why) {
  return why.verdict.outcome == ApiOutcome::conflict && why.reason == "AlreadyExists";
}

// The object is gone, or another object has its name.
bool is_gone(const kube::ApiError& why) {
  return why.verdict.outcome == ApiOutcome::not_found || why.verdict.outcome == ApiOutcome::conflict;
}

std::string removal(const std::string& uid) {
  return json::serialize(json::object{{"apiVersion", "v1"},
                                      {"kind", "DeleteOptions"},
                                      {"propagationPolicy", "Foreground"},
                                      {"preconditions", json::object{{"uid", uid}}}});
}

}  // namespace

DeepTester::DeepTester(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer,
                       ListBudget& lists, const Clock& clock, DeepTestPolicy policy, std::string pod,
                       OnResult on_result)
    : loop_(loop),
      client_(client),
      writer_(writer),
      lists_(lists),
      clock_(clock),
      policy_(std::move(policy)),
      pod_(std::move(pod)),
      on_result_(std::move(on_result)) {
  world_.watched_since = clock_.now().wall;
  world_.may_have_strays = true;  // left by an earlier agent
  kube::ClusterWriter::Source source;
  source.what = "a deep test";
  source.send = [this](kube::OnObject on_answer) { return send(std::move(on_answer)); };
  source.on_written = [this](const std::string& json) { note_written(json); };
  source.on_failed = [this](const kube::ApiError&) { note_failed(); };
  writer_.add(kube::WriteKind::deep_test, std::move(source));
}

void DeepTester::see(const kube::Node& node) {
  world_.node = node;
  go_on();
}

void DeepTester::want(bool is_wanted) {
  if (std::exchange(world_.is_wanted, is_wanted) != is_wanted) go_on();
}

Status DeepTester::test_now(Asked asked) {
  if (world_.node.meta.name.empty()) return fail(Errc::unavailable, "the cluster did not show this node yet");
  if (writer_.is_held()) return fail(Errc::unavailable, "another agent writes for this node");
  asked_ = std::move(asked);
  world_.asked = clock_.now().wall;
  go_on_soon();
  return {};
}

void DeepTester::cancel() {
  asked_.reset();
  world_.asked.reset();
  // A reservation that was already sent may be seen much later.
  world_.cancelled = clock_.now().wall;
  go_on_soon();
}

void DeepTester::tell_end(Result<std::string> said, std::optional<DeepTestRecord> record) {
  world_.asked.reset();
  if (const auto asked = std::exchange(asked_, std::nullopt))
    asked->on_end(std::move(said), std::move(record));
}

void DeepTester::tell_kept_from(const DeepTestStep& step) {
  if (step.in_use_by.empty()) return tell_end(fail(Errc::unavailable, step.why), std::nullopt);
  tell_end(fail(Errc::conflict, "GPU in use by " + step.in_use_by), std::nullopt);
}

// The record on the node is now that of the ended diagnostic.
void DeepTester::tell_released() {
  DeepTestRecord record = deep_test_record(world_.node, policy_.job.prefix);
  // A caller that waits now has requested another diagnostic after the cancel.
  if (record.tried && std::exchange(world_.cancelled, std::nullopt)) return;
  if (record.tried) return tell_end(fail(Errc::unavailable, record.why), record);
  const std::string failed = record.failed.empty() ? "" : ": " + record.failed;
  tell_end(std::string(to_string(record.outcome)) + failed, record);
}

// Posted, because no new request may begin within a callback.
void DeepTester::go_on_soon() {
  next_ = loop_.after(Duration{0}, [this] { go_on(); });
}

void DeepTester::go_on() {
  if (world_.node.meta.name.empty() || exchange_.is_active() || is_writing_) return;
  if (writer_.is_held()) {
    next_ = loop_.after(kWhileHeld, [this] { go_on(); });
    return;
  }
  if (must_ask_for_pod()) return ask_for_pod();
  const DeepTestStep step = next_step(world_, policy_, clock_.now().wall);
  if (step.kind == Kind::wait) return wait(step);
  if (step.kind == Kind::look) return look(step.is_glance);
  is_writing_ = true;
  writer_.want(kube::WriteKind::deep_test);
}

void DeepTester::wait(const DeepTestStep& step) {
  next_ = {};
  if (step.is_kept_from) tell_kept_from(step);
  if (!step.at)
    return tell_end(fail(Errc::unavailable, "this agent has no image for a deep test: set `deep_test.image`"),
                    std::nullopt);
  say(step);
  next_ =
      loop_.after(std::clamp(*step.at - clock_.now().wall, kShortestWait, kLongestWait), [this] { go_on(); });
}

// Reports why the node or the diagnostic waits, once for each reason.
void DeepTester::say(const DeepTestStep& step) {
  if (step.why.empty() || step.why == said_) return;
  said_ = step.why;
  if (asked_) asked_->on_wait(step.why);
  log_info("deep test: waiting", {{"why", step.why}});
}

// Reads Jobs, then pods.
void DeepTester::look(bool is_glance) {
  const Instant now = clock_.now();
  const MonoTime allowed = lists_.next(kListsOfSight, now.mono);
  if (allowed > now.mono) {
    next_ = loop_.at(allowed, [this] { go_on(); });
    return;
  }
  lists_.take(kListsOfSight, now.mono);
  world_.looked = now.wall;
  DeepTestSight sight{.asked = now.wall, .jobs = {}, .pods = {}, .is_exact = !is_glance};
  exchange_ = client_.get(list_path(jobs_path(policy_.job.name_space), "labelSelector",
                                    deep_test_selector(policy_.job.prefix, world_.node.meta.name), is_glance),
                          [this, sight](const kube::ApiResult<std::string>& answer) mutable {
                            if (!answer) return take_no_sight(answer.error().error);
                            auto jobs = kube::parse_jobs(*answer);
                            if (!jobs) return take_no_sight(jobs.error());
                            sight.jobs = std::move(*jobs);
                            list_pods(std::move(sight));
                          });
}

void DeepTester::list_pods(DeepTestSight sight) {
  kube::ApiPath path =
      list_path("/api/v1/pods", "fieldSelector", "spec.nodeName=" + world_.node.meta.name, !sight.is_exact);
  exchange_ =
      client_.get(path, [this, sight = std::move(sight)](const kube::ApiResult<std::string>& answer) mutable {
        if (!answer) return take_no_sight(answer.error().error);
        auto pods = kube::parse_pods(*answer);
        if (!pods) return take_no_sight(pods.error());
        sight.pods = std::move(*pods);
        const auto is_over = [](const kube::Job& job) { return job.is_over(); };
        world_.may_have_strays = !std::ranges::all_of(sight.jobs, is_over);
        world_.sight = std::move(sight);
        world_.can_look = true;
        go_on_soon();
      });
}

void DeepTester::take_no_sight(const Error& why) {
  world_.sight.reset();
  if (std::exchange(world_.can_look, false))
    log_warning("deep test: Jobs and pods of the node cannot be read", {{"cause", why.what}});
  // A running diagnostic may still have a result.
  if (!testing_marks(world_.node, policy_.job.prefix).any())
    tell_end(fail(why.code, "Jobs and pods of the node cannot be read: " + why.what), std::nullopt);
  go_on_soon();
}

bool DeepTester::must_ask_for_pod() const {
  const bool may_test = policy_.every > Duration{0} || is_ordered(world_, policy_, clock_.now().wall);
  return !has_asked_for_pod_ && may_test && (policy_.job.image.empty() || !policy_.job.owner);
}

void DeepTester::ask_for_pod() {
  if (!pod_.empty()) {
    exchange_ = client_.get({"/api/v1/namespaces/" + policy_.job.name_space + "/pods/" + pod_, {}},
                            [this](const kube::ApiResult<std::string>& answer) { take_pod(answer); });
    return;
  }
  has_asked_for_pod_ = true;
  if (policy_.job.image.empty())
    log_warning("deep test: cannot start: `deep_test.image` is empty, and this agent does not know its own");
  go_on_soon();
}

// Retries if the server is not available. A refusal is final: image and owner remain unknown.
void DeepTester::take_pod(const kube::ApiResult<std::string>& answer) {
  const auto own = answer ? parse_own_pod(*answer) : Result<OwnPod>(fail(answer.error().error));
  const kube::ApiNext next = answer ? kube::ApiNext::go_on : answer.error().verdict.next;
  if (next == kube::ApiNext::back_off || next == kube::ApiNext::refresh_credentials) {
    next_ = loop_.after(DeepTestTimes::kLook, [this] { go_on(); });
    return;
  }
  has_asked_for_pod_ = true;
  if (own && policy_.job.image.empty()) policy_.job.image = own->image;
  if (own && !policy_.job.owner) policy_.job.owner = own->owner;
  if (policy_.job.image.empty())
    log_warning(
        "deep test: cannot start: `deep_test.image` is empty, and the pod of this agent has no usable image",
        {{"pod", pod_}, {"cause", own ? "it has no container named agent" : own.error().what}});
  go_on_soon();
}

std::optional<net::Exchange> DeepTester::send(kube::OnObject on_answer) {
  is_writing_ = false;
  // The writer repeats a failed write during a read: the next step is decided after the read.
  if (exchange_.is_active()) return std::nullopt;
  const DeepTestStep step = next_step(world_, policy_, clock_.now().wall);
  if (!is_write(step.kind)) {
    go_on_soon();
    return std::nullopt;
  }
  is_writing_ = true;
  sent_ = step.kind;
  if (step.kind == Kind::create_job) world_.may_have_strays = true;
  if (step.kind == Kind::reserve) world_.cancelled.reset();
  said_.clear();
  log_info("deep test: " + std::string(word_of(step.kind)), {{"job", step.name}, {"why", step.why}});
  if (step.result) on_result_(step.name, *step.result);
  return send(step, std::move(on_answer));
}

net::Exchange DeepTester::send(const DeepTestStep& step, kube::OnObject on_answer) {
  if (step.kind == Kind::create_job)
    return client_.create({jobs_path(policy_.job.name_space), {}}, step.body,
                          forgiving(&is_there_already, std::move(on_answer)));
  if (step.kind == Kind::delete_job)
    return client_.remove({jobs_path(policy_.job.name_space, step.name), {}}, removal(step.uid),
                          forgiving(&is_gone, std::move(on_answer)));
  return client_.patch({"/api/v1/nodes/" + world_.node.meta.name, {}}, kube::Patch::merge, step.body,
                       std::move(on_answer));
}

void DeepTester::note_written(const std::string& json) {
  is_writing_ = false;
  const bool is_about_leave = sent_ == Kind::ask || sent_ == Kind::give_back;
  // Those annotations do not concern Jobs and pods.
  if (!is_about_leave) world_.sight.reset();
  if (is_about_leave || sent_ == Kind::reserve || sent_ == Kind::release)
    if (auto node = kube::parse_node(json)) world_.node = std::move(*node);
  if (sent_ == Kind::release) tell_released();
  go_on_soon();
}

// The writer retries later; the next step may be another one then.
void DeepTester::note_failed() {
  is_writing_ = false;
  world_.sight.reset();
  go_on_soon();
}

}  // namespace autopilot::diagnostics
