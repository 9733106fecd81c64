// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "diagnostics/cluster/deep_test_job.hpp"
#include "diagnostics/cluster/reservation.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// Result of reading the API: first the Jobs of deep_test_selector, then all pods of the node. The pods are
// therefore at least as new as the Jobs.
struct DeepTestSight {
  WallTime asked{};  // start of the first request
  std::vector<kube::Job> jobs;
  std::vector<kube::Pod> pods;
  bool is_exact = true;  // false: the server may have answered with an older state from its cache
};

struct DeepTestWorld {
  kube::Node node;                     // from a watch, or from the answer to a write
  std::optional<DeepTestSight> sight;  // not set after each write, because it may be outdated
  std::optional<WallTime> looked;      // start of the last read; two are at least kLook apart
  bool can_look = true;                // false: the last read was refused, or got no answer
  bool may_have_strays = false;        // a Job may run without a reservation
  bool is_wanted = false;              // the verdict waits for a diagnostic
  std::optional<WallTime> asked;       // time of a request for an immediate diagnostic
  std::optional<WallTime> cancelled;   // a diagnostic reserved before that time must end
  WallTime watched_since{};            // the first turn of an untested node is after that time
};

struct DeepTestPolicy {
  Duration every{};    // interval of scheduled diagnostics; 0: only on request
  std::string holder;  // name of this agent, as text for people
  std::vector<std::string> fatal;
  std::vector<host::DcgmExcuse> excuses;  // errors of DCGM that do not make a fatal test fatal
  int level = 0;                          // of dcgmi, for the record
  bool asks_controller = false;           // requests the controller's permission before a reservation
  DeepTestJobSettings job;                // without an image no diagnostic begins
};

struct DeepTestStep {
  enum class Kind : std::uint8_t {
    wait,        // until `at`, or until the node changes; without `at`, no diagnostic is possible
    look,        // read a new sight, from the server's cache if `is_glance`
    ask,         // patch the node with `body`: requests the controller's permission
    give_back,   // patch the node with `body`: returns a permission that is not needed
    reserve,     // patch the node with `body`
    create_job,  // create `body`; "already exists" counts as success
    delete_job,  // delete the Job `name` with `uid`, in the foreground; "not found" counts as success
    release,     // patch the node with `body`; `result`, if set, is the result of the diagnostic
  };
  Kind kind = Kind::wait;
  bool is_glance = false;
  std::optional<WallTime> at;
  std::string body;
  std::string name;
  std::string uid;
  std::string why;            // reason of the step, as text for people; empty: nothing unusual
  bool is_kept_from = false;  // of a wait: a read after the request showed that the node cannot be tested now
  std::string in_use_by;      // likewise: "namespace/pod" that has accelerators of the node
  std::optional<DeepTestResult> result;
};

// Limits of the steps. Their sum with the deadline of the diagnostic is the longest reservation of a node.
struct DeepTestTimes {
  static constexpr Duration kCreate = std::chrono::minutes{2};  // from the reservation to the Job
  static constexpr Duration kStart = std::chrono::minutes{5};   // from the Job to the start of its container
  static constexpr Duration kEnd = std::chrono::minutes{1};     // from the Job's deadline to the expiry
  static constexpr Duration kPatience =
      std::chrono::seconds{30};                                 // after the expiry, for pods that do not end
  static constexpr Duration kSettle = std::chrono::seconds{3};  // until a scheduler has seen the taint
  static constexpr Duration kLook = std::chrono::seconds{20};   // between sights, or longer (ListBudget)
  static constexpr Duration kLookBusy = std::chrono::minutes{1};  // the same while little changes
  static constexpr Duration kFresh = std::chrono::seconds{2};   // age of a sight that still answers a request
  static constexpr Duration kRetry = std::chrono::minutes{10};  // after a diagnostic without a result
  static constexpr Duration kLongest = std::chrono::hours{24};  // longest valid reservation
  static constexpr Duration kNews = std::chrono::minutes{1};    // longest delay of the Node object
};

// The next step of the deep diagnostic of a node. Pure and without state: it continues from the state of the
// API, which any agent may have left. A write may get no answer, be sent twice, or be sent by two agents: the
// server refuses a patch of a node that has changed, and a Job has one name for each reservation. The result
// is returned again until its release has arrived, so the caller can see its id (the name of the Job) twice.
[[nodiscard]] DeepTestStep next_step(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now);

// The controller holds the node and has requested a diagnostic that has not run since.
[[nodiscard]] bool is_ordered(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now);

// Longest time from a request to the end of the diagnostic.
[[nodiscard]] Duration longest_deep_test(const DeepTestPolicy& policy);

// Time of the node's next turn; not set: no diagnostic is due or enabled. Turns are spread over `every` by
// the name of the node.
[[nodiscard]] std::optional<WallTime> deep_test_due(const DeepTestWorld& world, const DeepTestPolicy& policy,
                                                    WallTime now);

}  // namespace autopilot::diagnostics
