// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "report/recall.hpp"
#include "store/journal_writer.hpp"

namespace autopilot::agent {

// The journal with what it remembers, or the reason why this run has none.
struct OpenedJournal {
  std::unique_ptr<store::JournalWriter> writer;
  runtime::Remembered remembered;
  report::ClusterMemory for_cluster;
  std::vector<Operation> operations;
  std::string moved_aside;  // new name of an unusable journal
  std::string problem;
  bool is_unwritten = false;  // what it remembers is not of the journal, which has to be given all of it
  bool is_read = false;       // it remembers the previous journal, as far as that can be read
};

// A simulated or recorded machine has a journal of its own, by its name.
[[nodiscard]] std::string journal_path(const config::Config& config, const Machine& machine);

// A journal that has been read, and is not written yet.
struct ReadJournal {
  OpenedJournal opened;
  std::unique_ptr<store::Journal> journal;
};

// A disk that hangs is waited for no longer; a sound one may flush for ten seconds.
inline constexpr Duration kDiskPatience = std::chrono::seconds{15};

// A journal that is opened and read on a thread of its own, which is left alone where the disk does not
// answer.
class JournalOpening {
 public:
  // Where there is no journal yet, or nothing of it can be read, what an earlier agent reported to the
  // cluster is remembered in its place, and goes into the new one: the cluster is asked for at most
  // kRecallDeadline.
  JournalOpening(const config::Config& config, const Machine& machine,
                 const std::optional<kube::ClusterDoor>& cluster);

  // Once. Nothing: it is not open yet. Without a writer: it could not be had, for the reason in `problem`.
  [[nodiscard]] std::optional<OpenedJournal> take(Duration patience);

 private:
  std::shared_ptr<const host::Host> host_;
  store::Retention retention_;
  std::future<ReadJournal> answer_;
};

// What of the journal can be read is remembered even where it is damaged, of a newer version, or cannot be
// written; `remembered.lost` then states why that may be incomplete. Blocks, for as long as a disk that does
// not answer and the cluster together.
[[nodiscard]] OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                                         const std::optional<kube::ClusterDoor>& cluster);

}  // namespace autopilot::agent
