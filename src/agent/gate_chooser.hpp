// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "learning/selector/gate_choice.hpp"
#include "net/event_loop.hpp"
#include "nettest/run/way_back.hpp"
#include "preflight/test_choice.hpp"

namespace autopilot::agent {

// The parts of an agent that the choice uses. They outlive it.
struct GateChooserParts {
  net::EventLoop& loop;
  const Clock& clock;
  std::string node;
  std::string history;  // path; empty: history is disabled
  const diagnostics::PassBook& passes;
  const diagnostics::Operations& operations;
  std::function<SnapshotPtr()> snapshot;
  std::function<std::vector<std::string>()> quick;  // ids of the quick diagnostics
};

// Chooses the diagnostics of a pod by the history of this node. History is read on a thread of its own, once
// for all that ask meanwhile; a thread that hangs in the kernel is abandoned, and no other one is started
// before it has ended. On the loop's thread.
class GateChooser {
 public:
  static constexpr Duration kPatience = std::chrono::seconds{2};
  static constexpr std::size_t kMostRecords = 20'000;  // of each type
  using Done = std::function<void(Result<preflight::TestChoice> choice)>;
  // Reads the history of the node. On the thread.
  using Read = std::function<Result<learning::NodePast>(const std::string& path, const std::string& node,
                                                        WallTime now)>;

  // `read`: for tests.
  explicit GateChooser(GateChooserParts parts, Read read = {});
  GateChooser(const GateChooser&) = delete;
  GateChooser& operator=(const GateChooser&) = delete;

  // Calls back once, never from within the call. Errors: history is disabled, is missing, cannot be read or
  // is not read within kPatience; no wanted test is offered; those of choose_for_gate.
  void choose(const preflight::ChoiceQuestion& question, Done done);

 private:
  struct Waiting {
    preflight::ChoiceQuestion question;
    Done done;
  };
  void begin_reading();
  void answer_all(const Result<learning::NodePast>& past);
  [[nodiscard]] Result<preflight::TestChoice> choice_of(const preflight::ChoiceQuestion& question,
                                                        learning::NodePast past) const;
  [[nodiscard]] learning::GateDiagnostic diagnostic_of(const preflight::OfferedTest& test,
                                                       const preflight::ChoiceQuestion& question) const;
  [[nodiscard]] Duration time_of(const std::string& test) const;

  const GateChooserParts parts_;
  const Read read_;
  std::vector<Waiting> waiting_;
  bool is_reading_ = false;
  net::Subscription patience_;
  nettest::WayBack way_back_;  // last: what the thread posts ends before what it uses
};

// All records of the node that a choice needs, of the last year. Blocks on the disk.
[[nodiscard]] Result<learning::NodePast> read_node_past(const std::string& path, const std::string& node,
                                                        WallTime now);

}  // namespace autopilot::agent
