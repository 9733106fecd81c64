// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// The storage class to test, and how the volume is used.
struct PvcTarget {
  std::string storage_class;
  std::string access_mode;  // "ReadWriteOnce", "ReadWriteMany", ...
};

struct PvcTimes {
  Duration patience = std::chrono::seconds{90};  // longest time from the claim to its volume
  Duration cleaning = std::chrono::minutes{2};   // until an object to remove counts as left behind
};

// Identifies the objects of one diagnostic.
struct PvcNames {
  std::string object;   // name of its claim and of its pod
  std::string run_key;  // annotation that identifies the diagnostic of an object
  std::string run;      // its value for this diagnostic; unique across processes
};

struct PvcResult {
  enum class Outcome : std::uint8_t { bound, not_bound, no_class, unknown };
  Outcome outcome = Outcome::unknown;
  Duration took{0};         // from the claim to its volume, or to giving up
  Error why;                // of unknown: why there is no result
  std::string provisioner;  // of the class
  std::string phase;        // of the claim, when last read
  std::string detail;       // explanation from the cluster; empty: none
  std::string left_behind;  // objects whose removal was requested and did not end; empty: none known
  bool is_clean = false;    // no object of any diagnostic of this node is left
};

// Present objects of all diagnostics of this node.
struct PvcWorld {
  std::optional<kube::StorageClass> storage_class;  // not set: the cluster has no class of that name
  std::vector<kube::PersistentVolumeClaim> claims;
  std::vector<kube::Pod> pods;
};

struct PvcStep {
  enum class Kind : std::uint8_t {
    look,             // read everything in PvcWorld
    look_at_own,      // read the claim, and the pod if has_consumer(), by the name of this diagnostic
    create_claim,     // with the name and the run of this diagnostic
    create_consumer,  // a pod on this node that uses the claim
    remove_claim,     // the claim `name`, only if its uid is `uid`
    remove_consumer,  // the pod `name`, likewise
    wait,             // until `until`
    finished,
  };
  Kind kind = Kind::wait;
  std::string name;
  std::string uid;
  MonoTime until{};
};

// One diagnostic of one storage class: removes the objects of earlier diagnostics of this node, claims a
// volume, observes the result and removes its own objects. Decides from the present objects and not from its
// own history, so that it may be killed at any moment and answers may be lost: the next diagnostic finds the
// objects. It requests the removal of objects of other classes too, without waiting for it, so that a class
// that keeps its volumes does not block another one. Pure: the caller executes the steps and reports. Ends at
// the latest patience + 4 * cleaning after its beginning.
class PvcTest {
 public:
  // Without a target it only removes present objects.
  PvcTest(std::optional<PvcTarget> target, PvcNames names, PvcTimes times);

  // The next step. The caller reports the result of each request once, with one of the functions below.
  [[nodiscard]] PvcStep step(MonoTime now);

  void saw(PvcWorld world, MonoTime now);
  // Not set: the object does not exist.
  void saw_own(std::optional<kube::PersistentVolumeClaim> claim, std::optional<kube::Pod> pod, MonoTime now);
  // The write succeeded.
  void wrote(MonoTime now);
  // The request failed, or its result is not known.
  void failed(kube::ApiOutcome outcome, const Error& why, MonoTime now);

  [[nodiscard]] const std::optional<PvcTarget>& target() const { return target_; }
  [[nodiscard]] const PvcNames& names() const { return names_; }
  // True if look_at_own has to read the pod too.
  [[nodiscard]] bool has_consumer() const;
  // Complete after the step `finished`.
  [[nodiscard]] const PvcResult& result() const { return result_; }

 private:
  enum class Needs : std::uint8_t { nothing, own, everything };

  [[nodiscard]] PvcStep give(PvcStep step);
  [[nodiscard]] PvcStep wait_until(MonoTime time, Needs needs);
  [[nodiscard]] PvcStep finish();
  void end_what_takes_too_long(MonoTime began, MonoTime now);
  [[nodiscard]] std::optional<PvcStep> clean(MonoTime now);
  [[nodiscard]] std::string objects_in_the_way() const;
  [[nodiscard]] bool has_unwanted() const;
  [[nodiscard]] std::optional<PvcStep> test(MonoTime now);
  void look_at(const kube::PersistentVolumeClaim& claim, const kube::Pod* consumer, MonoTime asked,
               MonoTime now);
  void give_up_waiting(const kube::PersistentVolumeClaim& claim, const kube::Pod* consumer);
  void decide(PvcResult::Outcome outcome, MonoTime now);
  void decide_unknown(Error why, MonoTime now);
  // Only after saw() with a class.
  [[nodiscard]] const kube::StorageClass& storage_class() const;
  [[nodiscard]] bool is_own(const kube::Meta& meta) const;
  [[nodiscard]] bool is_unwanted(const kube::Meta& meta) const;
  [[nodiscard]] bool is_in_the_way(const kube::Meta& meta) const;
  [[nodiscard]] bool is_cleaning() const { return !target_ || decided_.has_value(); }

  const std::optional<PvcTarget> target_;
  const PvcNames names_;
  const PvcTimes times_;

  Needs needs_ = Needs::everything;
  PvcWorld world_;
  PvcStep given_;  // the current or last request
  MonoTime not_before_{};
  std::optional<MonoTime> began_;
  bool has_claim_ = false;         // the claim has been seen
  bool wants_consumer_ = false;    // the pod has been requested
  std::optional<MonoTime> asked_;  // since then the claim exists, and its pod if it needs one
  MonoTime last_pending_{};        // last time that the claim had no volume
  int conflicts_ = 0;
  std::optional<MonoTime> decided_;
  std::optional<MonoTime> cleaning_since_;
  Error last_problem_{Errc::unavailable, "the API server did not answer"};
  bool is_finished_ = false;
  PvcResult result_;
};

// Node, namespace and settings of the diagnostics.
struct PvcPlace {
  std::string node;
  std::string node_uid;  // owner of the objects: they are removed with the Node object
  std::string name_space;
  std::string prefix = "autopilot.ibm.com";  // of labels and annotations
  std::uint64_t bytes = 0;                   // of a claim
  std::string image;                         // of the pod that uses the claim; the image need not run
};

// Label of all objects of one node's diagnostics: "autopilot.ibm.com/pvc-test=gpu-7".
[[nodiscard]] std::string pvc_label(const PvcPlace& place);
// "autopilot-pvc-9a3f00d1c2b4e5f6": the same for the same node, class and access mode.
[[nodiscard]] std::string pvc_object_name(std::string_view node, const PvcTarget& target);

// Body of the request that creates the claim.
[[nodiscard]] std::string claim_json(const PvcPlace& place, const PvcTarget& target, const PvcNames& names);
// A pod that uses the claim on that node only, tolerates its taints, has no permissions and does nothing. The
// scheduler must place it: a class that waits for a consumer provisions no volume for a pod with `nodeName`.
[[nodiscard]] std::string consumer_json(const PvcPlace& place, const PvcNames& names, Duration lifetime);
// DeleteOptions that remove the object with this uid only, not another one of the same name.
[[nodiscard]] std::string removal_json(std::string_view uid);

// Observations for the check storage.pvc: pvc.outcome, pvc.seconds and, if an object was left behind,
// pvc.left_behind. `result` not set: no diagnostic has ended yet.
[[nodiscard]] Observations pvc_observations(const PvcTarget& target, const std::optional<PvcResult>& result,
                                            const PvcTimes& times, Instant ended);

}  // namespace autopilot::diagnostics
