// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/snapshot.hpp"

// The page about one machine that `check` and `status` print: one line with the verdict and its reason, the
// problems, the checks that could not run, the GPUs, and one line for everything else. Pure.
namespace autopilot::cli {

// An incident, or a finding that no incident contains.
struct PageProblem {
  Health health = Health::degraded;  // healthy: records of the driver without a fault of the machine
  std::string text;                  // subject and message, with its state
  std::string brief;                 // for one line: "GPU 3 Xid 79: A GPU fell off the bus"
  std::string tag;                   // for a shell prompt: "GPU 3 Xid 79"
  WallTime since{};                  // start of the condition by its evidence; epoch: unknown
  std::optional<WallTime> gone{};    // last time that it was seen; set if the condition no longer holds
  std::string clears_when{};         // its clear condition, as the catalog states it; set with `gone`
  std::vector<std::string> notes{};  // GPU users, consequences, acknowledgement
  std::string advice{};              // what to do, as a sentence; empty: unknown
  std::string command{};             // the command that does it; empty: no single command does
  std::string explain{};             // argument of `autopilot explain`; empty: the catalog has no entry
  std::string incident{};            // argument of `autopilot ack`; empty: a finding without incident
};

// Checks that could not run for one cause.
struct PageGap {
  bool is_required = false;    // one of the checks counts for the health of the node
  bool is_permission = false;  // the cause is a list of permissions
  std::string cause;
  std::vector<std::string> checks;
};

struct PageGpu {
  std::string address;
  std::string index;  // empty: it has none, or a listed GPU has it now
  std::string model;
  std::string serial;
  std::optional<double> celsius;
  std::string owner;  // process, container or pod that uses it
  Health health = Health::healthy;
  bool is_lost = false;  // the driver does not list it (now)
};

// Text with a title, such as losses of the kernel log.
struct PageNote {
  std::string title;  // empty: no title
  std::string text;
};

struct NodePage {
  std::string node;
  Health health = Health::unknown;
  std::string verdict;   // "EVICT"; empty: no verdict
  std::string reason;    // why it is not healthy, for one line; empty: healthy
  bool is_part = false;  // some incidents of the machine are about other checks only
  bool is_simulated = false;
  std::optional<WallTime> checked{};  // end of the latest run of a check; nullopt: no check has run
  std::vector<PageProblem> problems;  // worst first
  std::vector<PageGap> gaps;          // of required checks first
  std::vector<PageGpu> gpus;          // by address
  std::vector<std::string> healthy;   // checks that ran and found nothing
  std::size_t unsupported = 0;        // checks that do not apply to this machine
  std::size_t not_started = 0;        // diagnostics without a result, because none was started
  std::vector<PageNote> notes;
};

// Only incidents with a member of a check in the snapshot are on the page.
[[nodiscard]] NodePage page_of(const NodeSnapshot& snapshot);

// True for a diagnostic that no person or schedule has started yet.
[[nodiscard]] bool is_not_started(const CheckResult& result);

// Parts of it, for pages from other sources: worst first, incidents before findings; and why the node of the
// page is not healthy.
void sort_problems(std::vector<PageProblem>& problems);
[[nodiscard]] std::string reason_of(const NodePage& page);
// ", and 2 more" for the problems behind the first, which is the reason; empty if there is one, or none.
[[nodiscard]] std::string further_problems(const NodePage& page);

struct PageView {
  bool color = false;
  std::size_t width = 80;               // columns, at least 40
  std::optional<std::size_t> height{};  // lines; nullopt: no limit
  WallTime now{};                       // ages are relative to it
  std::string more = "see --all";       // how the reader sees what is folded
};

// So few checks are named; more are counted.
inline constexpr std::size_t kMostNamedChecks = 3;

// One line, or two if the width requires it: node, health and reason, verdict, age.
[[nodiscard]] std::vector<std::string> page_header(const NodePage& page, const PageView& view);
// Everything below the header. If the height of the view is set, header and body together have at most so
// many lines: GPUs, causes of unknown checks and further problems are folded in this order; the first problem
// remains.
[[nodiscard]] std::vector<std::string> page_body(const NodePage& page, const PageView& view);
// Both, as text.
[[nodiscard]] std::string render_page(const NodePage& page, const PageView& view);

// A few words for a shell prompt: "ok", "degraded 2", "failed: GPU 3 Xid 79, and 1 more",
// "unknown: gpu.driver".
[[nodiscard]] std::string short_status(const NodePage& page);

}  // namespace autopilot::cli
