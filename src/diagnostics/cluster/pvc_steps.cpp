// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/pvc_steps.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/stable_hash.hpp"
#include "diagnostics/cluster/own_pod.hpp"
#include "host/diagnostic_results/results.hpp"

namespace autopilot::diagnostics {

namespace {

using PvcKind = PvcStep::Kind;
using Outcome = PvcResult::Outcome;

constexpr Duration kFirstPause = std::chrono::seconds{1};
constexpr Duration kLongestPause = std::chrono::seconds{10};
constexpr Duration kCleaningPause = std::chrono::seconds{2};
constexpr Duration kRetryPause = std::chrono::seconds{5};
constexpr int kMaxConflicts = 2;

// The scheduler writes it when it has found a node and waits for the volume.
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

// Messages of the scheduler if the volume keeps a pod from a node (kube-scheduler 1.32, plugins volumebinding
// and nodevolumelimits).
constexpr std::array<std::string_view, 4> kVolumeWords{"persistent volume", "volume node affinity",
                                                       "enough free storage", "max volume count"};

bool is_about_volumes(std::string_view message) {
  return std::ranges::any_of(kVolumeWords,
                             [&](auto word) { return message.find(word) != std::string_view::npos; });
}

bool is_worth_a_retry(kube::ApiOutcome outcome) {
  using kube::ApiOutcome;
  return outcome == ApiOutcome::unauthorized || outcome == ApiOutcome::busy ||
         outcome == ApiOutcome::server_error || outcome == ApiOutcome::unreachable;
}

template <class Object>
void put_own(std::vector<Object>& objects, const std::string& name, std::optional<Object> seen) {
  std::erase_if(objects, [&](const Object& object) { return object.meta.name == name; });
  if (seen) objects.push_back(*std::move(seen));
}

template <class Object>
void mark_deleting(std::vector<Object>& objects, const std::string& uid) {
  for (Object& object : objects)
    if (object.meta.uid == uid) object.meta.is_deleting = true;
}

}  // namespace

PvcTest::PvcTest(std::optional<PvcTarget> target, PvcNames names, PvcTimes times)
    : target_(std::move(target)), names_(std::move(names)), times_(times) {}

PvcStep PvcTest::give(PvcStep step) {
  given_ = step;
  return step;
}

PvcStep PvcTest::wait_until(MonoTime time, Needs needs) {
  needs_ = needs;
  not_before_ = time;
  return {.kind = PvcKind::wait, .name = {}, .uid = {}, .until = time};
}

PvcStep PvcTest::finish() {
  is_finished_ = true;
  return {.kind = PvcKind::finished, .name = {}, .uid = {}, .until = {}};
}

PvcStep PvcTest::step(MonoTime now) {
  if (!began_) began_ = now;
  end_what_takes_too_long(*began_, now);
  if (is_finished_) return finish();
  if (now < not_before_) return {.kind = PvcKind::wait, .name = {}, .uid = {}, .until = not_before_};
  if (needs_ == Needs::everything) return give({.kind = PvcKind::look, .name = {}, .uid = {}, .until = {}});
  if (needs_ == Needs::own) return give({.kind = PvcKind::look_at_own, .name = {}, .uid = {}, .until = {}});
  if (auto cleaning = clean(now)) return *std::move(cleaning);
  if (auto testing = test(now)) return *std::move(testing);
  // The result has been decided: the objects of this diagnostic have to be removed.
  auto cleaning = clean(now);
  AUTOPILOT_ASSERT(cleaning.has_value());
  return *std::move(cleaning);
}

// The server may be unavailable for any time.
void PvcTest::end_what_takes_too_long(MonoTime began, MonoTime now) {
  if (target_ && !decided_ && now - began > times_.patience + 2 * times_.cleaning)
    decide_unknown(last_problem_, now);
  if (is_cleaning() && now - decided_.value_or(began) > 2 * times_.cleaning) is_finished_ = true;
}

const kube::StorageClass& PvcTest::storage_class() const {
  AUTOPILOT_ASSERT(world_.storage_class.has_value());
  return *world_.storage_class;
}

bool PvcTest::is_own(const kube::Meta& meta) const {
  const auto run = meta.annotations.find(names_.run_key);
  return meta.name == names_.object && run != meta.annotations.end() && run->second == names_.run;
}

bool PvcTest::is_unwanted(const kube::Meta& meta) const {
  return is_cleaning() || !is_own(meta);
}

bool PvcTest::is_in_the_way(const kube::Meta& meta) const {
  return is_unwanted(meta) && (!target_ || meta.name == names_.object);
}

// Removes pods first: a claim remains while a pod uses it. Not set: nothing to remove, and a diagnostic to
// run.
std::optional<PvcStep> PvcTest::clean(MonoTime now) {
  for (const auto& pod : world_.pods)
    if (is_unwanted(pod.meta) && !pod.meta.is_deleting)
      return give({PvcKind::remove_consumer, pod.meta.name, pod.meta.uid, {}});
  for (const auto& claim : world_.claims)
    if (is_unwanted(claim.meta) && !claim.meta.is_deleting)
      return give({PvcKind::remove_claim, claim.meta.name, claim.meta.uid, {}});
  const std::string still_there = objects_in_the_way();
  if (still_there.empty()) {
    cleaning_since_.reset();
    if (!is_cleaning()) return std::nullopt;
    result_.is_clean = !has_unwanted();
    return finish();
  }
  if (!cleaning_since_) cleaning_since_ = now;
  if (now - *cleaning_since_ <= times_.cleaning)
    return wait_until(now + std::clamp<Duration>((now - *cleaning_since_) / 4, kCleaningPause, kLongestPause),
                      target_ ? Needs::own : Needs::everything);
  result_.left_behind = still_there;
  if (!is_cleaning()) decide_unknown({Errc::conflict, still_there + " of an earlier test does not go"}, now);
  return finish();
}

bool PvcTest::has_consumer() const {
  return wants_consumer_ || std::ranges::any_of(world_.pods, [this](const kube::Pod& pod) {
           return pod.meta.name == names_.object;
         });
}

std::string PvcTest::objects_in_the_way() const {
  std::string names;
  for (const auto& pod : world_.pods)
    if (is_in_the_way(pod.meta)) names += (names.empty() ? "pod " : ", pod ") + pod.meta.name;
  for (const auto& claim : world_.claims)
    if (is_in_the_way(claim.meta)) names += (names.empty() ? "claim " : ", claim ") + claim.meta.name;
  return names;
}

bool PvcTest::has_unwanted() const {
  const auto is_one = [this](const auto& object) { return is_unwanted(object.meta); };
  return std::ranges::any_of(world_.pods, is_one) || std::ranges::any_of(world_.claims, is_one);
}

// Not set: the result has been decided.
std::optional<PvcStep> PvcTest::test(MonoTime now) {
  if (!world_.storage_class) {
    decide(Outcome::no_class, now);
    return std::nullopt;
  }
  result_.provisioner = storage_class().provisioner;
  if (storage_class().keeps_volumes) {
    decide_unknown(
        {Errc::unsupported,
         "its volumes stay when their claims go (reclaimPolicy Retain); each test would leave one"},
        now);
    return std::nullopt;
  }
  const auto claim =
      std::ranges::find_if(world_.claims, [this](const auto& one) { return is_own(one.meta); });
  if (claim == world_.claims.end()) {
    if (!has_claim_)
      return give({.kind = PvcKind::create_claim, .name = names_.object, .uid = {}, .until = {}});
    decide_unknown({Errc::conflict, "the claim of the diagnostic was removed by another client"}, now);
    return std::nullopt;
  }
  has_claim_ = true;
  const auto pod = std::ranges::find_if(world_.pods, [this](const auto& one) { return is_own(one.meta); });
  const kube::Pod* consumer = pod == world_.pods.end() ? nullptr : &*pod;
  const bool waits = storage_class().waits_for_consumer && claim->phase != "Bound" && claim->phase != "Lost";
  if (consumer != nullptr) wants_consumer_ = true;
  if (waits && consumer == nullptr && !std::exchange(wants_consumer_, true))
    return give({.kind = PvcKind::create_consumer, .name = names_.object, .uid = {}, .until = {}});
  if (waits && consumer == nullptr) {
    decide_unknown({Errc::conflict,
                    "the pod of the diagnostic is missing: it was not created, or another client removed it"},
                   now);
    return std::nullopt;
  }
  if (!asked_) asked_ = last_pending_ = now;
  const MonoTime asked = *asked_;
  look_at(*claim, consumer, asked, now);
  if (decided_) return std::nullopt;
  return wait_until(now + std::clamp<Duration>((now - asked) / 4, kFirstPause, kLongestPause), Needs::own);
}

void PvcTest::look_at(const kube::PersistentVolumeClaim& claim, const kube::Pod* consumer, MonoTime asked,
                      MonoTime now) {
  result_.phase = claim.phase;
  // The last read may be long ago. The volume then counts as bound kLongestPause after that read.
  result_.took = std::min(now, last_pending_ + kLongestPause) - asked;
  if (claim.phase == "Bound") return decide(Outcome::bound, now);
  last_pending_ = now;
  result_.took = now - asked;
  if (claim.phase == "Lost") {
    result_.detail = "its volume is lost";
    return decide(Outcome::not_bound, now);
  }
  if (consumer != nullptr && consumer->is_over())
    return decide_unknown({Errc::unavailable, "the pod of the test ended before it had its volume"}, now);
  if (now - asked < times_.patience) return;
  give_up_waiting(claim, consumer);
  decided_ = now;
}

// A class that waits for a consumer is not at fault if the pod cannot be scheduled for another reason.
void PvcTest::give_up_waiting(const kube::PersistentVolumeClaim& claim, const kube::Pod* consumer) {
  result_.outcome = Outcome::not_bound;
  if (!storage_class().waits_for_consumer) return;
  result_.detail = consumer == nullptr ? "" : consumer->unscheduled;
  if (is_about_volumes(result_.detail) || claim.meta.annotations.contains(kSelectedNode)) return;
  result_.outcome = Outcome::unknown;
  result_.why = {Errc::unavailable,
                 "the pod of the test found no place on this node" +
                     (result_.detail.empty() ? "; the scheduler gives no reason" : ": " + result_.detail)};
}

void PvcTest::decide(Outcome outcome, MonoTime now) {
  result_.outcome = outcome;
  decided_ = now;
}

void PvcTest::decide_unknown(Error why, MonoTime now) {
  result_.why = std::move(why);
  decide(Outcome::unknown, now);
}

void PvcTest::saw(PvcWorld world, MonoTime now) {
  world_ = std::move(world);
  needs_ = Needs::nothing;
  not_before_ = now;
}

void PvcTest::saw_own(std::optional<kube::PersistentVolumeClaim> claim, std::optional<kube::Pod> pod,
                      MonoTime now) {
  put_own(world_.claims, names_.object, std::move(claim));
  put_own(world_.pods, names_.object, std::move(pod));
  needs_ = Needs::nothing;
  not_before_ = now;
}

void PvcTest::wrote(MonoTime now) {
  if (given_.kind == PvcKind::remove_consumer) mark_deleting(world_.pods, given_.uid);
  if (given_.kind == PvcKind::remove_claim) mark_deleting(world_.claims, given_.uid);
  if (given_.kind != PvcKind::create_claim && given_.kind != PvcKind::create_consumer) return;
  needs_ = Needs::own;
  // From here on the class has everything that it waits for.
  if (given_.kind == PvcKind::create_consumer || !storage_class().waits_for_consumer)
    asked_ = last_pending_ = now;
}

void PvcTest::failed(kube::ApiOutcome outcome, const Error& why, MonoTime now) {
  using kube::ApiOutcome;
  needs_ = Needs::everything;
  not_before_ = now + kRetryPause;
  last_problem_ = why;
  if (given_.kind == PvcKind::create_consumer) wants_consumer_ = false;  // unless the next read shows it
  if (is_worth_a_retry(outcome)) return;
  const bool is_removal = given_.kind == PvcKind::remove_claim || given_.kind == PvcKind::remove_consumer;
  const bool is_gone = is_removal && (outcome == ApiOutcome::not_found || outcome == ApiOutcome::conflict);
  // A conflict can come from an own create whose answer was lost. If it repeats, the object is another
  // client's.
  const bool is_there = !is_removal && outcome == ApiOutcome::conflict && ++conflicts_ <= kMaxConflicts;
  if (is_gone || is_there || outcome == ApiOutcome::expired) return;
  // A retry would get the same answer: a permission, the namespace, or a required object is missing.
  not_before_ = now;
  if (target_ && !decided_)
    decide_unknown(why, now);
  else
    is_finished_ = true;
}

namespace json = boost::json;

namespace {

json::object meta_json(const PvcPlace& place, const PvcNames& names) {
  const json::object owner{
      {"apiVersion", "v1"}, {"kind", "Node"}, {"name", place.node}, {"uid", place.node_uid}};
  return {{"name", names.object},
          {"namespace", place.name_space},
          {"labels", json::object{{place.prefix + "/pvc-test", node_label_value(place.node)},
                                  {"app.kubernetes.io/managed-by", "autopilot"}}},
          {"annotations", json::object{{names.run_key, names.run}}},
          {"ownerReferences", json::array{owner}}};
}

json::object on_node(const std::string& node) {
  const json::object field{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{node}}};
  const json::object term{{"matchFields", json::array{field}}};
  const json::object required{{"nodeSelectorTerms", json::array{term}}};
  return {{"nodeAffinity", json::object{{"requiredDuringSchedulingIgnoredDuringExecution", required}}}};
}

json::object container_json(const PvcPlace& place) {
  const json::object security{{"allowPrivilegeEscalation", false},
                              {"readOnlyRootFilesystem", true},
                              {"capabilities", json::object{{"drop", json::array{"ALL"}}}}};
  return {{"name", "consumer"},
          {"image", place.image},
          {"securityContext", security},
          {"volumeMounts", json::array{json::object{{"name", "volume"}, {"mountPath", "/volume"}}}}};
}

}  // namespace

std::string pvc_label(const PvcPlace& place) {
  return place.prefix + "/pvc-test=" + node_label_value(place.node);
}

std::string pvc_object_name(std::string_view node, const PvcTarget& target) {
  return "autopilot-pvc-" +
         stable_hash(std::string(node) + '/' + target.storage_class + '/' + target.access_mode).hex();
}

std::string claim_json(const PvcPlace& place, const PvcTarget& target, const PvcNames& names) {
  const json::object resources{{"requests", json::object{{"storage", std::to_string(place.bytes)}}}};
  const json::object spec{{"accessModes", json::array{target.access_mode}},
                          {"storageClassName", target.storage_class},
                          {"resources", resources}};
  return json::serialize(json::object{{"apiVersion", "v1"},
                                      {"kind", "PersistentVolumeClaim"},
                                      {"metadata", meta_json(place, names)},
                                      {"spec", spec}});
}

std::string consumer_json(const PvcPlace& place, const PvcNames& names, Duration lifetime) {
  constexpr std::int64_t nobody = 65534;
  const json::object claim{{"claimName", names.object}};
  const json::object security{{"runAsNonRoot", true},
                              {"runAsUser", nobody},
                              {"runAsGroup", nobody},
                              {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
  const json::object spec{
      {"restartPolicy", "Never"},
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds", 1},
      {"activeDeadlineSeconds", std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()},
      {"affinity", on_node(place.node)},
      {"tolerations", json::array{json::object{{"operator", "Exists"}}}},
      {"securityContext", security},
      {"containers", json::array{container_json(place)}},
      {"volumes", json::array{json::object{{"name", "volume"}, {"persistentVolumeClaim", claim}}}}};
  return json::serialize(json::object{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta_json(place, names)}, {"spec", spec}});
}

std::string removal_json(std::string_view uid) {
  return json::serialize(json::object{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", json::object{{"uid", uid}}}});
}

namespace {

using Outcome = PvcResult::Outcome;

constexpr std::string_view word_of(Outcome outcome) {
  if (outcome == Outcome::bound) return "bound";
  return outcome == Outcome::no_class ? "no_class" : "not_bound";
}

Observation observation_of(const PvcTarget& target, std::string_view name, Instant ended) {
  Observation observation;
  observation.name = name;
  observation.subject.kind = SubjectKind::peer;
  observation.subject.key = target.storage_class + "/" + target.access_mode;
  observation.source = "kubernetes";
  observation.time = ended;
  return observation;
}

void add_words(Attributes& attributes, const PvcResult& result) {
  const auto add = [&](std::string_view name, const std::string& word) {
    if (!word.empty()) attributes.emplace_back(name, word);
  };
  add("provisioner", result.provisioner);
  add("phase", result.phase);
  add("detail", result.detail);
  add("leftBehind", result.left_behind);
  if (result.outcome == Outcome::unknown) add("error", result.why.what);
}

}  // namespace

Observations pvc_observations(const PvcTarget& target, const std::optional<PvcResult>& result,
                              const PvcTimes& times, Instant ended) {
  Observation outcome = observation_of(target, "pvc.outcome", ended);
  outcome.attributes = {{"storageClass", target.storage_class},
                        {"accessMode", target.access_mode},
                        {"patienceSeconds", to_seconds(times.patience)}};
  if (!result) {
    outcome.missing = host::kNotTested;
    outcome.attributes.emplace_back("error", "no test has ended since the agent started");
    return {outcome};
  }
  add_words(outcome.attributes, *result);
  if (result->outcome == Outcome::unknown)
    outcome.missing = to_string(result->why.code);
  else
    outcome.value = std::string(word_of(result->outcome));
  Observations all{std::move(outcome)};
  if (result->outcome == Outcome::bound || result->outcome == Outcome::not_bound) {
    all.push_back(observation_of(target, "pvc.seconds", ended));
    all.back().value = to_seconds(result->took);
    all.back().unit = "seconds";
  }
  if (!result->left_behind.empty()) {
    all.push_back(observation_of(target, "pvc.left_behind", ended));
    all.back().value = true;
  }
  return all;
}

}  // namespace autopilot::diagnostics
