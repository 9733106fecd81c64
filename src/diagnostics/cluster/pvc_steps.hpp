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

// What is asked for a volume, and for which use.
struct PvcTarget {
  std::string storage_class;
  std::string access_mode;  // "ReadWriteOnce", "ReadWriteMany", ...
};

struct PvcTimes {
  Duration patience = std::chrono::seconds{90};  // from the claim to its volume
  Duration cleaning = std::chrono::minutes{2};   // until what is to go counts as left behind
};

// How the objects of one test are told from others.
struct PvcNames {
  std::string object;   // the name of its claim and of its pod
  std::string run_key;  // the annotation that says which test made an object
  std::string run;      // of this test; differs for every test of every process
};

struct PvcResult {
  enum class Outcome : std::uint8_t { bound, not_bound, no_class, unknown };
  Outcome outcome = Outcome::unknown;
  Duration took{0};         // from the claim to its volume, or to giving up
  Error why;                // of unknown: what kept the test from telling
  std::string provisioner;  // of the class
  std::string phase;        // of the claim, when it was seen last
  std::string detail;       // what the cluster says about it
  std::string left_behind;  // what was asked to go and did not; empty: nothing is known to be there still
  bool is_clean = false;    // nothing of any test is there any more
};

// What is there, of all tests of this node.
struct PvcWorld {
  std::optional<kube::StorageClass> storage_class;  // nothing: the cluster has none of that name
  std::vector<kube::PersistentVolumeClaim> claims;
  std::vector<kube::Pod> pods;
};

struct PvcStep {
  enum class Kind : std::uint8_t {
    look,             // at everything in PvcWorld
    look_at_own,      // at the claim, and where has_consumer() the pod, with the name of this test alone
    create_claim,     // with the name and the run of this test
    create_consumer,  // a pod on this node that uses the claim
    remove_claim,     // of `name`, only while it has `uid`
    remove_consumer,  // likewise
    wait,             // until `until`
    finished,
  };
  Kind kind = Kind::wait;
  std::string name;
  std::string uid;
  MonoTime until{};
};

// One test of one storage class: takes away what earlier tests of this node left, claims a volume, sees what
// comes of it, and takes everything away again. Decides from what is there and not from what was done, so
// that it may be killed at any moment, and answers may be lost: the next one finds what it left. What other
// classes left is asked to go as well, but not waited for: one that keeps its volumes blinds no other. Pure:
// the caller does the steps and reports. Ends in any case, at the latest patience + 4 * cleaning after it
// began.
class PvcTest {
 public:
  // Without a target it only takes away what is there.
  PvcTest(std::optional<PvcTarget> target, PvcNames names, PvcTimes times);

  // What to do next. Each request that it gives is ended by one report.
  [[nodiscard]] PvcStep step(MonoTime now);

  void saw(PvcWorld world, MonoTime now);
  // Nothing: it is not there.
  void saw_own(std::optional<kube::PersistentVolumeClaim> claim, std::optional<kube::Pod> pod, MonoTime now);
  // The server did what was asked.
  void wrote(MonoTime now);
  // It did not, or nobody knows.
  void failed(kube::ApiOutcome outcome, const Error& why, MonoTime now);

  [[nodiscard]] const std::optional<PvcTarget>& target() const { return target_; }
  [[nodiscard]] const PvcNames& names() const { return names_; }
  // Whether look_at_own is to see a pod as well.
  [[nodiscard]] bool has_consumer() const;
  // When finished.
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
  // Once a look has shown it.
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
  PvcStep given_;  // the request that is under way, or was last
  MonoTime not_before_{};
  std::optional<MonoTime> began_;
  bool has_claim_ = false;         // it was seen
  bool wants_consumer_ = false;    // its pod was asked for
  std::optional<MonoTime> asked_;  // for the volume: the claim is there, and its pod where one is needed
  MonoTime last_pending_{};        // when the claim was last seen without a volume
  int conflicts_ = 0;
  std::optional<MonoTime> decided_;
  std::optional<MonoTime> cleaning_since_;
  Error last_problem_{Errc::unavailable, "the API server did not answer"};
  bool is_finished_ = false;
  PvcResult result_;
};

// Where a node tests, and with what.
struct PvcPlace {
  std::string node;
  std::string node_uid;  // the objects go when the Node object goes
  std::string name_space;
  std::string prefix = "autopilot.ibm.com";  // of labels and annotations
  std::uint64_t bytes = 0;                   // of a claim
  std::string image;                         // of the pod that uses it; need not run
};

// The label that all objects of the tests of one node bear: "autopilot.ibm.com/pvc-test=gpu-7".
[[nodiscard]] std::string pvc_label(const PvcPlace& place);
// "autopilot-pvc-9a3f00d1c2b4e5f6": the same for the same node, class and access mode.
[[nodiscard]] std::string pvc_object_name(std::string_view node, const PvcTarget& target);

// The body of the request that makes the claim.
[[nodiscard]] std::string claim_json(const PvcPlace& place, const PvcTarget& target, const PvcNames& names);
// A pod that wants the claim on that node alone, tolerates its taints, holds no right and does nothing. The
// scheduler places it: a pod with a node of its own would never make a class give a volume.
[[nodiscard]] std::string consumer_json(const PvcPlace& place, const PvcNames& names, Duration lifetime);
// DeleteOptions: this one, and none that has the same name.
[[nodiscard]] std::string removal_json(std::string_view uid);

// One test as the check storage.pvc finds it on the board: pvc.outcome, pvc.seconds and, where something did
// not go, pvc.left_behind. Without a result: none has ended yet.
[[nodiscard]] Observations pvc_observations(const PvcTarget& target, const std::optional<PvcResult>& result,
                                            const PvcTimes& times, Instant ended);

}  // namespace autopilot::diagnostics
