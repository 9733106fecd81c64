// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/detectors/collectives.hpp"
#include "jobs/detectors/gpu_activity.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

// The part of the cluster that keeps a hanging job from going on.
namespace autopilot::jobs {

// A rank in the newest windows.
struct RankSigns {
  int rank = 0;
  std::string node;
  std::string leaf;        // of the node; empty: unknown
  std::optional<int> gpu;  // index
  GpuActivity activity = GpuActivity::unknown;
  std::optional<bool> is_awake;  // its processes take processor time or move bytes
  float stopped = kMissing;      // share of the window
  float disk_sleep = kMissing;   // share of the window
};

enum class HangEventKind : std::uint8_t { xid, link_down, link_degraded, node_lost, failed_check };

struct HangEvent {
  WallTime time{};
  HangEventKind kind = HangEventKind::xid;
  std::string node;
  std::optional<int> gpu;
  std::string nic;
  Family family = Family::host;  // of the evidence
  std::string text;         // for the sentence: "Xid 79", "mlx5_0 went down"; link_degraded: a whole sentence
  bool is_hardware = true;  // false: an Xid that a program causes, which accuses no node
};

struct HangCase {
  WallTime last_progress{};
  WallTime now{};
  std::vector<RankSigns> ranks;
  CollectiveBlame blame;
  std::vector<HangEvent> events;  // of the job's nodes; others do no harm
};

// What names the culprit, strongest first.
enum class LocalisedBy : std::uint8_t { dead_rank, counts, process, device, event, nothing };

struct HangCulprit {
  Entity culprit;  // unlocalised if nothing names one, or if the ranks are on several nodes
  LocalisedBy by = LocalisedBy::nothing;
  std::vector<int> ranks;          // that the job waits for, ascending; may be known without a culprit
  std::vector<Evidence> evidence;  // what names the culprit first, then what agrees with it; log_odds is 0
  std::string sentence;            // for a person
  double probability = 0;          // that the culprit is right: a default until fuse() has better
};

// Order: ranks that RAS calls dead or that do not answer; ranks with the lowest count; processes that are
// stopped or wait for a disk; GPUs that do not wait while the others do; an Xid, a lost link or node from 10
// min before the last progress to 5 min after it. What is unknown never accuses. Two nodes at once are a
// culprit only as a leaf that holds all of them, or as shared storage. A rank without a GPU whose processes
// work while those of the others sleep is named without a culprit: its program may loop on a healthy node.
[[nodiscard]] HangCulprit localise(const HangCase& hang);

}  // namespace autopilot::jobs
