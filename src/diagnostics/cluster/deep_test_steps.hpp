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

// What the API showed when it was asked: first the Jobs of deep_test_selector, then, when these were there,
// all pods of the node. So the pods are at least as new as the Jobs.
struct DeepTestSight {
  WallTime asked{};  // when the asking began
  std::vector<kube::Job> jobs;
  std::vector<kube::Pod> pods;
  bool is_exact = true;  // false: the server may have answered from memory, with what was a while ago
};

struct DeepTestWorld {
  kube::Node node;                     // as a watch or the answer to a write told
  std::optional<DeepTestSight> sight;  // none after a write, whatever its answer: then it may be old
  std::optional<WallTime> looked;      // when the last look began; two are kLook apart
  bool can_look = true;                // false: the last look was refused, or got no answer
  bool may_have_strays = false;        // a Job may run although nobody keeps the node
  bool is_wanted = false;              // the verdict waits for a test
  std::optional<WallTime> asked;       // since when somebody waits for one that is made now, or not at all
  std::optional<WallTime> cancelled;   // a test for which the node was reserved until then is to end
  WallTime watched_since{};            // a node that was never tested has its turn some time after that
};

struct DeepTestPolicy {
  Duration every{};    // 0: none of its own accord
  std::string holder;  // who we are, for people
  std::vector<std::string> fatal;
  std::vector<host::DcgmExcuse> excuses;  // errors of DCGM by which none of them is fatal
  int level = 0;                          // of dcgmi, for the record
  bool asks_controller = false;           // before the node is reserved
  DeepTestJobSettings job;                // without an image nothing is tested
};

struct DeepTestStep {
  enum class Kind : std::uint8_t {
    wait,        // nothing before `at`, or before the node changes; without `at` nothing at all
    look,        // take a new sight, which need not be exact where `is_glance`, ask again
    ask,         // patch the node with `body`: the controller is asked for leave
    give_back,   // patch the node with `body`: leave that is not needed any more
    reserve,     // patch the node with `body`
    create_job,  // create `body`; that it is there already is as good
    delete_job,  // delete the Job `name` with `uid`, in the foreground; that it is gone is as good
    release,     // patch the node with `body`; `result`, if there is one, is what the test said
  };
  Kind kind = Kind::wait;
  bool is_glance = false;
  std::optional<WallTime> at;
  std::string body;
  std::string name;
  std::string uid;
  std::string why;            // for people: why it waits, or does what it does; empty: as it should be
  bool is_kept_from = false;  // of a wait: the node cannot be tested now, as was seen since somebody asked
  std::string in_use_by;      // likewise: "namespace/pod" that has accelerators of the node
  std::optional<DeepTestResult> result;
};

// How long a step of a test may take. Together with the test's own deadline they are how long a node is kept.
struct DeepTestTimes {
  static constexpr Duration kCreate = std::chrono::minutes{2};     // from the reservation to the Job
  static constexpr Duration kStart = std::chrono::minutes{5};      // from there to the start of its container
  static constexpr Duration kEnd = std::chrono::minutes{1};        // from the Job's deadline to the expiry
  static constexpr Duration kPatience = std::chrono::seconds{30};  // after it, for pods that do not end
  static constexpr Duration kSettle = std::chrono::seconds{3};     // until a scheduler has seen the taint
  static constexpr Duration kLook = std::chrono::seconds{20};      // between sights, or longer (ListBudget)
  static constexpr Duration kLookBusy = std::chrono::minutes{1};   // and while little changes
  static constexpr Duration kFresh = std::chrono::seconds{2};      // a sight for who asks, before that
  static constexpr Duration kRetry = std::chrono::minutes{10};     // after a test that said nothing
  static constexpr Duration kLongest = std::chrono::hours{24};     // no reservation is made for longer
  static constexpr Duration kNews = std::chrono::minutes{1};       // the node may be known so late
};

// The next thing to do for the deep test of a node. Pure, and without memory: whatever was begun by whoever
// is gone on with, by what the API shows. Every write may get no answer, be sent twice, or be sent by two
// agents: those of the node are refused when the node changed, a Job has one name for each reservation. A
// result is given until the release that carries it has arrived, so its id (the name of the Job) may be seen
// again.
[[nodiscard]] DeepTestStep next_step(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now);

// The controller holds the node and wants a test that was not made since.
[[nodiscard]] bool is_ordered(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now);

// From asking for a test to its end, at most.
[[nodiscard]] Duration longest_deep_test(const DeepTestPolicy& policy);

// When a node has its turn. Nodes are spread over `every`, and each keeps its place in it.
[[nodiscard]] std::optional<WallTime> deep_test_due(const DeepTestWorld& world, const DeepTestPolicy& policy,
                                                    WallTime now);

}  // namespace autopilot::diagnostics
