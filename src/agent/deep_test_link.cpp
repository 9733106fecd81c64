// SPDX-License-Identifier: Apache-2.0
#include "agent/deep_test_link.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "diagnostics/cluster/idle_gpus.hpp"

namespace autopilot::agent {
namespace {

// Beyond that they are the same devices.
bool is_same(const Subject& one, const Subject& other) {
  return std::tie(one.key, one.index, one.uuid, one.serial) ==
         std::tie(other.key, other.index, other.uuid, other.serial);
}

// End of the last diagnostic, with or without a result.
WallTime last_news(const diagnostics::DeepTestRecord& record) {
  return std::max(record.finished, record.tried.value_or(WallTime{}));
}

}  // namespace

DeepTestLink::DeepTestLink(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer,
                           diagnostics::ListBudget& lists, const Clock& clock,
                           diagnostics::DeepTestPolicy policy, std::string pod, DeepTestOutlets outlets)
    : prefix_(policy.job.prefix),
      fatal_(policy.fatal),
      longest_(diagnostics::longest_deep_test(policy)),
      outlets_(std::move(outlets)),
      view_({.record = {}, .gpus = {}, .is_on = policy.every > Duration{0}, .has_accelerators = false}),
      tester_(loop, client, writer, lists, clock, std::move(policy), std::move(pod),
              [this](const std::string& test, const diagnostics::DeepTestResult& result) {
                outlets_.pass(pass_records_of(result, test, view_.gpus, boot_id_));
              }) {}

void DeepTestLink::see(const kube::Node& node) {
  const diagnostics::AcceleratorUse use = diagnostics::accelerator_use(node, {});
  const bool has_accelerators = !use.whole.empty() || !use.parts.empty();
  diagnostics::DeepTestRecord record = diagnostics::deep_test_record(node, prefix_);
  const bool is_new =
      !std::exchange(has_seen_, true) || record != view_.record || has_accelerators != view_.has_accelerators;
  view_.record = std::move(record);
  view_.has_accelerators = has_accelerators;
  is_marked_ = diagnostics::testing_marks(node, prefix_).any();
  if (is_new) judge();
  reserve();
  tester_.see(node);
}

void DeepTestLink::note(const NodeSnapshot& snapshot) {
  boot_id_ = snapshot.boot_id;
  auto gpus = diagnostics::gpus_in(snapshot);
  if (std::ranges::equal(gpus, view_.gpus, is_same)) return;
  view_.gpus = std::move(gpus);
  if (has_seen_) judge();
}

void DeepTestLink::note(const incidents::WrittenVerdict& written, Verdict verdict) {
  tester_.want(view_.is_on && waits_for_deep_test(written, verdict, view_.record));
}

Status DeepTestLink::test_now(diagnostics::OwnTest::Calls calls) {
  if (!view_.is_on) return fail(Errc::unavailable, "deep tests are switched off: `deep_test.every` is 0s");
  diagnostics::DeepTester::Asked asked;
  asked.on_wait = std::move(calls.on_progress);
  asked.on_end = [this, on_end = std::move(calls.on_end)](const Result<std::string>& said,
                                                          std::optional<diagnostics::DeepTestRecord> record) {
    if (!record) return on_end(said);
    end_ = End{std::move(*record), [on_end, said] { on_end(said); }};
    tell_end();
  };
  return tester_.test_now(std::move(asked));
}

void DeepTestLink::cancel() {
  end_.reset();
  tester_.cancel();
}

void DeepTestLink::tell_end() {
  if (!end_ || !is_judged_ || last_news(view_.record) < last_news(end_->record)) return;
  const auto tell = std::move(end_->tell);
  end_.reset();
  tell();
}

std::optional<WallTime> DeepTestLink::passed() const {
  if (view_.record.outcome != diagnostics::DeepTestOutcome::passed) return std::nullopt;
  return view_.record.began;
}

void DeepTestLink::judge() {
  is_judged_ = false;
  outlets_.judge(diagnostics::deep_test_observations(view_, fatal_), [this, judgement = ++judgement_] {
    if (judgement != judgement_) return;
    is_judged_ = true;
    reserve();
    tell_end();
  });
}

// A released node remains TESTING until the result of its diagnostic has been judged: it must not be PASS in
// between.
void DeepTestLink::reserve() {
  const bool is_reserved = is_marked_ || (is_reserved_ && !is_judged_);
  if (std::exchange(is_reserved_, is_reserved) != is_reserved) outlets_.reserve(is_reserved);
}

}  // namespace autopilot::agent
