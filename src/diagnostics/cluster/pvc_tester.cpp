// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/pvc_tester.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "core/result.hpp"
#include "diagnostics/cluster/pvc_steps.hpp"
#include "logging/log.hpp"

namespace autopilot::diagnostics {
namespace {

using PvcKind = PvcStep::Kind;

constexpr const char* kClaims = "persistentvolumeclaims";
constexpr const char* kPods = "pods";

constexpr std::size_t kListsOfLook = 2;  // of claims, and of pods

// Deadline of the pod, in case that it is never removed.
constexpr Duration kPodOutlives = std::chrono::minutes{10};
// How long an empty namespace counts as empty. Objects that another agent of this node leaves meanwhile
// conflict with a diagnostic, which then reads the namespace again.
constexpr Duration kSeenEmpty = std::chrono::minutes{10};
constexpr kube::BackOffTimes kSweepPauses{.first = std::chrono::minutes{1}, .last = std::chrono::hours{1}};

}  // namespace

PvcTester::PvcTester(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer,
                     ListBudget& lists, const Clock& clock, PvcPlace place, PvcPlan plan,
                     std::function<double()> random, std::shared_ptr<host::TestBoard> board)
    : loop_(loop),
      client_(client),
      writer_(writer),
      lists_(lists),
      clock_(clock),
      place_(std::move(place)),
      plan_(std::move(plan)),
      random_(std::move(random)),
      board_(std::move(board)),
      results_(plan_.targets.size()),
      ended_(plan_.targets.size(), clock.now()),
      current_(plan_.targets.size()) {
  const Duration spread = std::min(plan_.period, kLatestStart);
  if (plan_.period > Duration{0})
    next_round_ = clock_.now().mono +
                  Duration{static_cast<Duration::rep>(random_() * static_cast<double>(spread.count()))};
  kube::ClusterWriter::Source source;
  source.what = "a test of a storage class";
  source.send = [this](kube::OnObject on_answer) { return send(std::move(on_answer)); };
  source.on_written = [this](const std::string&) {
    write_.reset();
    test().wrote(clock_.now().mono);
    go_on();
  };
  source.on_failed = [this](const kube::ApiError& why) {
    write_.reset();
    take_failure(why);
  };
  writer_.add(kube::WriteKind::pvc_test, std::move(source));
  put_on_board();
}

void PvcTester::see(const kube::Node& node) {
  place_.node_uid = node.meta.uid;
  go_on();
}

Status PvcTester::test_now(OwnTest::Calls calls) {
  if (place_.node_uid.empty()) return fail(Errc::unavailable, "the cluster did not show this node yet");
  asked_ = std::move(calls);
  begins_anew_ = test_ && test_->target();
  if (!begins_anew_) begin_round();
  if (write_) writer_.want(kube::WriteKind::pvc_test, kube::WriteUrgency::awaited);
  go_on();
  return {};
}

// PvcTest limits one diagnostic; objects of earlier ones may have to be removed first.
Duration PvcTester::longest_round() const {
  const Duration one = plan_.times.patience + 4 * plan_.times.cleaning;
  return one * static_cast<Duration::rep>(plan_.targets.size() + 2);
}

void PvcTester::begin_round() {
  current_ = 0;
  if (next_round_) next_round_ = clock_.now().mono + plan_.period;
}

void PvcTester::go_on() {
  if (place_.node_uid.empty() || exchange_.is_active() || write_) return;
  for (;;) {
    const MonoTime now = clock_.now().mono;
    if (!test_ && !begin_next(now)) return;
    PvcStep step = test().step(now);
    switch (step.kind) {
      case PvcKind::look:
        return look();
      case PvcKind::look_at_own:
        return look_at_own();
      case PvcKind::wait:
        next_ = loop_.at(step.until, [this] { go_on(); });
        return;
      case PvcKind::finished:
        conclude(now);
        break;
      case PvcKind::create_claim:
      case PvcKind::create_consumer:
      case PvcKind::remove_claim:
      case PvcKind::remove_consumer:
        seen_empty_.reset();
        write_ = std::move(step);
        return writer_.want(kube::WriteKind::pvc_test,
                            asked_ ? kube::WriteUrgency::awaited : kube::WriteUrgency::state);
    }
  }
}

PvcTest& PvcTester::test() {
  AUTOPILOT_ASSERT(test_.has_value());
  return *test_;
}

// Begins the next diagnostic, or the removal of objects of an earlier agent; false: later.
bool PvcTester::begin_next(MonoTime now) {
  if (current_ == plan_.targets.size() && next_round_ && now >= *next_round_) begin_round();
  if (wants_sweep_ && now >= next_sweep_) {
    test_.emplace(std::nullopt, names_of(""), plan_.times);
  } else if (current_ < plan_.targets.size()) {
    const PvcTarget& target = plan_.targets[current_];
    if (asked_) asked_->on_progress("asking " + target.storage_class + " for a volume");
    test_.emplace(target, names_of(pvc_object_name(place_.node, target)), plan_.times);
  } else {
    wait_for_next();
    return false;
  }
  return true;
}

void PvcTester::wait_for_next() {
  std::optional<MonoTime> next = next_round_;
  if (wants_sweep_) next = std::min(next.value_or(next_sweep_), next_sweep_);
  next_ = {};
  if (next) next_ = loop_.at(*next, [this] { go_on(); });
}

// The time differs for every diagnostic and every process.
PvcNames PvcTester::names_of(const std::string& object) {
  std::array<char, 17> run{};
  std::snprintf(run.data(), run.size(), "%" PRIx64,
                static_cast<std::uint64_t>(clock_.now().wall.time_since_epoch().count()));
  return {object, place_.prefix + "/pvc-run", run.data()};
}

void PvcTester::conclude(MonoTime now) {
  const PvcResult result = test().result();
  const auto target = test().target();
  test_.reset();
  if (result.is_clean) {
    seen_empty_ = now;
    sweeps_.reset();
  } else {
    next_sweep_ = now + sweeps_.fail(kSweepPauses, random_());
  }
  wants_sweep_ = !result.is_clean;
  if (!target) return;
  results_[current_] = result;
  ended_[current_] = clock_.now();
  ++current_;
  put_on_board();
  if (std::exchange(begins_anew_, false))
    begin_round();
  else if (current_ == plan_.targets.size())
    tell_asked();
  const Observation outcome = pvc_observations(*target, result, plan_.times, clock_.now()).front();
  logging::log_info("a storage class was tested",
                    {{"class", target->storage_class},
                     {"mode", target->access_mode},
                     {"outcome", outcome.value ? autopilot::to_string(*outcome.value) : result.why.what},
                     {"took", format_duration(std::chrono::round<std::chrono::milliseconds>(result.took))}});
}

// A round has ended.
void PvcTester::tell_asked() {
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  std::string said;
  bool is_known = false;
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    const auto& [storage_class, access_mode] = plan_.targets[i];
    const auto& result = results_[i];
    const Observation outcome = pvc_observations(plan_.targets[i], result, plan_.times, ended_[i]).front();
    is_known = is_known || outcome.value;
    std::string word = result ? "unknown, " + result->why.what : "unknown";
    if (outcome.value) word = autopilot::to_string(*outcome.value);
    said.append(said.empty() ? "" : "; ")
        .append(storage_class)
        .append(" ")
        .append(access_mode)
        .append(": ")
        .append(word);
  }
  asked->on_end(is_known ? Result<std::string>(said) : fail(Errc::unavailable, said));
}

void PvcTester::put_on_board() const {
  Observations all;
  for (std::size_t i = 0; i < plan_.targets.size(); ++i)
    std::ranges::move(pvc_observations(plan_.targets[i], results_[i], plan_.times, ended_[i]),
                      std::back_inserter(all));
  board_->put(std::string(kPvcCheck), std::move(all));
}

bool PvcTester::is_seen_empty(MonoTime now) const {
  return seen_empty_ && now - *seen_empty_ < kSeenEmpty;
}

// Not set: the object does not exist.
template <class T>
void PvcTester::get(const kube::ApiPath& path, Result<T> (*parse)(std::string_view),
                    std::function<void(std::optional<T>)> on_found) {
  exchange_ = client_.get(
      path, [this, parse, on_found = std::move(on_found)](const kube::ApiResult<std::string>& answer) {
        if (!answer && answer.error().verdict.outcome == kube::ApiOutcome::not_found)
          return on_found(std::nullopt);
        if (!answer) return take_failure(answer.error());
        auto found = parse(*answer);
        if (found) return on_found(*std::move(found));
        kube::ApiError why;
        why.error = found.error();
        why.verdict.outcome = kube::ApiOutcome::unexpected;
        take_failure(why);
      });
}

void PvcTester::look() {
  const MonoTime now = clock_.now().mono;
  seen_ = {};
  if (is_seen_empty(now)) return get_class();
  if (const MonoTime allowed = lists_.next(kListsOfLook, now); allowed > now) {
    next_ = loop_.at(allowed, [this] { go_on(); });
    return;
  }
  lists_.take(kListsOfLook, now);
  get<std::vector<kube::PersistentVolumeClaim>>(list_of(kClaims), kube::parse_claims, [this](auto claims) {
    if (claims) seen_.claims = *std::move(claims);
    list_pods();
  });
}

void PvcTester::list_pods() {
  get<std::vector<kube::Pod>>(list_of(kPods), kube::parse_pods, [this](auto pods) {
    if (pods) seen_.pods = *std::move(pods);
    get_class();
  });
}

void PvcTester::get_class() {
  const auto done = [this] {
    test().saw(std::move(seen_), clock_.now().mono);
    go_on();
  };
  const auto& target = test().target();
  if (!target) return done();
  const std::string path = "/apis/storage.k8s.io/v1/storageclasses/" + target->storage_class;
  get<kube::StorageClass>({path, {}}, kube::parse_storage_class, [this, done](auto found) {
    seen_.storage_class = std::move(found);
    done();
  });
}

void PvcTester::look_at_own() {
  const std::string path = path_of(kClaims, test().names().object);
  get<kube::PersistentVolumeClaim>({path, {}}, kube::parse_claim, [this](auto claim) {
    if (test().has_consumer()) return look_at_consumer(std::move(claim));
    test().saw_own(std::move(claim), std::nullopt, clock_.now().mono);
    go_on();
  });
}

void PvcTester::look_at_consumer(std::optional<kube::PersistentVolumeClaim> claim) {
  const std::string path = path_of(kPods, test().names().object);
  get<kube::Pod>({path, {}}, kube::parse_pod, [this, claim = std::move(claim)](auto pod) {
    test().saw_own(claim, std::move(pod), clock_.now().mono);
    go_on();
  });
}

void PvcTester::take_failure(const kube::ApiError& why) {
  test().failed(why.verdict.outcome, why.error, clock_.now().mono);
  // The writer may have called: it goes on by itself first.
  next_ = loop_.after(Duration{0}, [this] { go_on(); });
}

std::optional<net::Exchange> PvcTester::send(kube::OnObject on_answer) {
  if (!write_ || !test_) return std::nullopt;
  switch (write_->kind) {
    case PvcKind::create_claim: {
      const auto& target = test_->target();
      AUTOPILOT_ASSERT(target.has_value());
      return client_.create({path_of(kClaims), {}}, claim_json(place_, *target, test_->names()),
                            std::move(on_answer));
    }
    case PvcKind::create_consumer:
      return client_.create({path_of(kPods), {}},
                            consumer_json(place_, test_->names(), plan_.times.patience + kPodOutlives),
                            std::move(on_answer));
    case PvcKind::remove_claim:
    case PvcKind::remove_consumer:
      return client_.remove(
          {path_of(write_->kind == PvcKind::remove_claim ? kClaims : kPods, write_->name), {}},
          removal_json(write_->uid), std::move(on_answer));
    default:
      return std::nullopt;
  }
}

std::string PvcTester::path_of(const std::string& kind, const std::string& name) const {
  return "/api/v1/namespaces/" + place_.name_space + "/" + kind + (name.empty() ? "" : "/" + name);
}

kube::ApiPath PvcTester::list_of(const std::string& kind) const {
  constexpr const char* most = "50";
  return {path_of(kind), {{"labelSelector", pvc_label(place_)}, {"limit", most}}};
}

}  // namespace autopilot::diagnostics
