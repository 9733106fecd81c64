// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"
#include "learning/records.hpp"

// What the agent knows, as records of history. Pure.
namespace autopilot::agent {

// Serial numbers, else UUIDs, of the GPUs of this node.
class GpuNames {
 public:
  static constexpr std::size_t kMost = 64;

  // Keeps what it knows of a GPU that no longer answers. True if something is new.
  bool learn(const NodeSnapshot& snapshot);
  // Of a GPU or a part of it; empty: another subject, or unknown.
  [[nodiscard]] std::string of(const Subject& subject) const;
  [[nodiscard]] std::string at(int index) const;

 private:
  std::map<std::string, std::string, std::less<>> by_address_;
  std::map<int, std::string> by_index_;
};

// Version of the driver that its check found; nullopt: the check has not run, or could not; empty: there is
// no driver, or no such check.
[[nodiscard]] std::optional<std::string> driver_version_in(const NodeSnapshot& snapshot);

// A fault as the agent sees it now.
struct SeenFault {
  learning::Fault fault;
  bool is_card_unknown = false;  // of a card whose name is not known now
};

// The id is that of the incident, with the node. An incident that was merged into another one has the
// confidence 0, and the text names the other one.
[[nodiscard]] SeenFault fault_of(const Incident& incident, const std::string& node, const GpuNames& gpus);
// Of the acknowledgement: a person has seen the incident, and left a note; the answer is unclear. nullopt:
// there is none.
[[nodiscard]] std::optional<learning::Label> acknowledgement_of(const Incident& incident,
                                                                const std::string& node,
                                                                const GpuNames& gpus);

// A finding about a job that names a GPU, a NIC or a host. nullopt: it names nothing of a node. `gpus` are
// those of `node`; a GPU of another node has no name here.
[[nodiscard]] std::optional<SeenFault> fault_of(const jobs::JobFinding& finding, const std::string& node,
                                                const GpuNames& gpus);
// True if an agent wrote it of a finding about a job.
[[nodiscard]] bool is_of_finding(const learning::Fault& fault);
// What a person stated about a finding of the report. nullopt: the finding names nothing of a node, or is
// forgotten.
[[nodiscard]] std::optional<learning::Label> label_of(const jobs::Feedback& feedback,
                                                      const jobs::JobReport& report, const std::string& node,
                                                      const GpuNames& gpus);

// Joined with the record of the same fault: what is unknown now keeps its card and its texts. nullopt: the
// record is the same.
[[nodiscard]] std::optional<learning::Fault> joined(const std::optional<learning::Fault>& stored,
                                                    SeenFault now);

// The same outcome, in the words of history.
[[nodiscard]] learning::JobOutcome outcome_of(jobs::Outcome outcome);

// Without an id: it follows from what is stored. `record` has ranks of this node only.
[[nodiscard]] learning::NodeJob node_job_of(const jobs::JobRecord& record, const std::string& node,
                                            const GpuNames& gpus);
[[nodiscard]] learning::NodeJob node_job_of(const jobs::JobEndRecord& record, const std::string& node);

// Joins what is known now with the newest stored record of the job on this node, which continues unless it is
// over. nullopt: nothing new, or an end without a begin.
[[nodiscard]] std::optional<learning::NodeJob> continued(std::optional<learning::NodeJob> stored,
                                                         learning::NodeJob now);

// Two parts of the agent see the begin of one run at different times, which differ by less than this.
inline constexpr Duration kStartTolerance = std::chrono::minutes{1};
// The run that ended, among records of its job on its node: the record that overlaps it most. A run overlaps
// at least half of it, or began within kStartTolerance of its begin, and never began after its end. nullopt:
// its record is missing.
[[nodiscard]] std::optional<learning::NodeJob> run_of(std::span<const learning::NodeJob> runs,
                                                      const learning::NodeJob& ended);

// What a validation knows of a job that ended, joined with the stored record of that run.
[[nodiscard]] learning::NodeJob explained(const std::optional<learning::NodeJob>& stored,
                                          learning::NodeJob ended);

}  // namespace autopilot::agent
