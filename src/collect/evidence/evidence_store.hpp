// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/own_folder.hpp"

// What was captured when a job was suspected to hang or to be slow: one folder for each finding, for the
// agent only. Written once, never changed. Calls block where the disk blocks: use it on a worker.
namespace autopilot::collect {

struct EvidenceLimits {
  std::size_t incident_bytes = std::size_t{16} << 20;  // of one folder; longer texts are cut
  std::size_t incidents = 64;                          // beyond them, the oldest goes
};

// One part of the capture.
struct EvidenceItem {
  std::string name;         // "ras", "flight_recorder", "counters", ...: docs/evidence.md has them all
  std::string file;         // in the folder; empty: there is none
  std::uint64_t bytes = 0;  // of the file
  Duration took{};
  std::string problem;  // why it is missing, or not complete; empty: it is complete
};

struct EvidenceIndex {
  std::string finding;
  std::string job;
  WallTime time{};  // when the capture began
  std::vector<EvidenceItem> items;
};

// A folder that is being filled, by one thread.
class EvidenceFolder {
 public:
  // Notes the item, and writes its text if it has one. A text beyond the limit is cut; of a text that the
  // disk cannot hold, what fits is kept. Both are stated in the item.
  void add(EvidenceItem item, std::string_view text);
  // Bytes that further texts may have.
  [[nodiscard]] std::size_t room() const { return room_; }
  // Writes index.json, for which room was reserved. The folder is in the store from now on.
  [[nodiscard]] Result<EvidenceIndex> finish();

 private:
  friend class EvidenceStore;
  EvidenceFolder(host::OwnFolder folder, std::string path, EvidenceIndex index, std::size_t room)
      : folder_(std::move(folder)), path_(std::move(path)), index_(std::move(index)), room_(room) {}

  host::OwnFolder folder_;
  std::string path_;
  EvidenceIndex index_;
  std::size_t room_;
};

// Thread-safe.
class EvidenceStore {
 public:
  // `folder`, such as <state>/evidence, is made if it does not exist; the folder above it must.
  [[nodiscard]] static Result<EvidenceStore> open(const std::string& folder,
                                                  const EvidenceLimits& limits = {});
  EvidenceStore(EvidenceStore&& other) noexcept : folder_(std::move(other.folder_)), limits_(other.limits_) {}

  // Makes room for one incident, then its folder. malformed: the finding's id is not a file name of letters,
  // digits, '.', '_' and '-', at most 128. conflict: it has evidence already.
  [[nodiscard]] Result<EvidenceFolder> begin(const std::string& finding, const std::string& job,
                                             WallTime time);

  // The newest first. A folder without a readable index is of an interrupted capture, and is left out.
  [[nodiscard]] std::vector<EvidenceIndex> list() const;
  // not_found: no such evidence.
  [[nodiscard]] Result<EvidenceIndex> find(const std::string& finding) const;
  // The text of one file that the index names. not_found.
  [[nodiscard]] Result<std::string> read(const std::string& finding, const std::string& file) const;

 private:
  EvidenceStore(std::string folder, const EvidenceLimits& limits)
      : folder_(std::move(folder)), limits_(limits) {}
  void make_room() const;

  const std::string folder_;
  const EvidenceLimits limits_;
  mutable std::mutex mutex_;  // held while folders are made, removed or read
};

// index.json: {"finding","job","time","items":[{"item","file","bytes","tookMs","problem"}]}; empty texts are
// left out. malformed.
[[nodiscard]] std::string format_evidence_index(const EvidenceIndex& index);
[[nodiscard]] Result<EvidenceIndex> parse_evidence_index(std::string_view text);

}  // namespace autopilot::collect
