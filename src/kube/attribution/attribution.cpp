// SPDX-License-Identifier: Apache-2.0
#include "kube/attribution/attribution.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "logging/log.hpp"

namespace autopilot::kube {
namespace {

constexpr std::string_view kLook = "gpu.processes";
constexpr std::string_view kKubelet = "kubelet";
// A pod may have tens of KiB.
constexpr std::size_t kPage = 250;

kube::WatchOptions watch_of(const std::string& node) {
  kube::WatchOptions options;
  options.list = {"/api/v1/pods", {{"fieldSelector", "spec.nodeName=" + node}}};
  options.page = kPage;
  options.between_lists = Attribution::kEvery;
  return options;
}

}  // namespace

Attribution::Attribution(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                         const std::string& node, std::function<double()> random,
                         std::function<void(const Observations& holders)> report, PodListener pods)
    : loop_(loop),
      clock_(clock),
      report_(std::move(report)),
      listener_(std::move(pods)),
      watch_(loop, client, watch_of(node),
             {[this] {
                is_listing_ = true;
                pods_.clear();
                if (listener_.begin_list) listener_.begin_list();
              },
              [this](const kube::JsonObject& object) { list(kube::parse_pod(object)); },
              [this] {
                is_listing_ = false;
                problem_.clear();
                if (listener_.end_list) listener_.end_list();
                tell();
              },
              [this](const kube::JsonObject& object) { put(kube::parse_pod(object)); },
              [this](const kube::JsonObject& object) { remove(kube::parse_pod(object)); },
              [this] { problem_.clear(); }, [this](const kube::ApiError& error) { say(error.error.what); }},
             std::move(random)) {}

void Attribution::start() {
  watch_.start();
  again_ = loop_.every(kEvery, [this] { tell(); });
}

void Attribution::note(const NodeSnapshot& snapshot) {
  const auto look = std::ranges::find(snapshot.results, kLook, &CheckResult::check);
  const bool has_it = look != snapshot.results.end();  // it may be switched off
  const bool is_awaited = has_it && look->completed == WallTime{};
  const bool knows_better = has_it && std::ranges::count(look->witnesses, kKubelet) > 0;
  const bool was_wanted = std::exchange(is_wanted_, !is_awaited && !knows_better);
  if (is_wanted_ && !was_wanted) tell();
}

Result<std::string> Attribution::holder() const {
  if (!problem_.empty()) return fail(Errc::unavailable, problem_);
  if (is_listing_) return fail(Errc::unavailable, "the pods of this node were not seen yet");
  return pods_.holder();
}

void Attribution::list(const kube::Pod& pod) {
  if (listener_.put) listener_.put(pod);
  (void)pods_.put(pod);
}

void Attribution::put(const kube::Pod& pod) {
  problem_.clear();
  if (listener_.put) listener_.put(pod);
  if (pods_.put(pod)) tell();
}

// What it held it held until now.
void Attribution::remove(const kube::Pod& pod) {
  problem_.clear();
  tell();
  pods_.remove(pod);
  if (listener_.remove) listener_.remove(pod);
}

void Attribution::tell() {
  if (!is_wanted_ || is_listing_ || !problem_.empty()) return;
  if (const Observations holders = pods_.holders(clock_.now()); !holders.empty()) report_(holders);
}

// Once, not at every try.
void Attribution::say(const std::string& problem) {
  const std::string before = std::exchange(problem_, "the pods of this node cannot be seen: " + problem);
  if (problem_ != before) logging::log_warning(problem_);
}

}  // namespace autopilot::kube
