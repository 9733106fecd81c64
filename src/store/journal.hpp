// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"

namespace autopilot::store {

// The last value of one counter, so that growth survives a restart within a boot.
struct LastSample {
  std::string check;
  Observation observation;
  std::string boot_id{};  // key of last_samples(); must be set
};

// One held finding, which the state machine needs after a restart.
struct StoredFinding {
  std::string check;
  Finding finding;
  std::string boot_id;
  std::string state;  // opaque to the store: internal state of the state machine
};

// The content of one commit, written atomically.
struct Batch {
  std::vector<Event> events;        // an event without id (0) gets the next id
  std::vector<Incident> incidents;  // inserted or replaced by id
  std::vector<Operation> operations;
  std::vector<PassRecord> pass_records;  // a record without a time deletes the one of its GPU and test
  std::vector<LastSample> last_samples;
  std::optional<std::vector<StoredFinding>> findings;       // replaces the whole set
  std::vector<std::pair<std::string, std::string>> values;  // small values, such as "kernel_log.position"
  // After this batch the journal has all data of its writer, regardless of earlier losses.
  bool is_whole = false;

  [[nodiscard]] bool empty() const;
};

struct Retention {
  Duration age = std::chrono::hours{24 * 30};
  std::uint64_t bytes = std::uint64_t{64} << 20;
};

struct EventQuery {
  std::uint64_t after_id = 0;
  std::optional<WallTime> since;
  std::string check;
  std::size_t limit = 1000;
};

// The agent's database: SQLite in WAL mode, synchronous=FULL, one writer. Every call can block on the disk:
// use it on a worker thread. Not thread-safe; one owner.
class Journal {
 public:
  static constexpr int kSchemaVersion = 2;
  // Longer texts and lists are truncated; the row records that.
  static constexpr std::size_t kMaxTextBytes = 4096;
  static constexpr std::size_t kMaxValueBytes = std::size_t{64} << 10;  // of one of Batch::values
  static constexpr std::size_t kMaxListItems = 64;
  static constexpr std::size_t kMaxObservations = 1024;
  // Limit of one query.
  static constexpr std::size_t kMaxRows = 100'000;
  // JSON represents this number exactly; at a thousand events per second the ids last for 285,000 years.
  static constexpr std::uint64_t kMaxEventId = std::uint64_t{1} << 53;

  struct Opened {
    std::unique_ptr<Journal> journal;
    std::string moved_aside;  // not empty: the old file was unusable and now has this name
    std::string reason;       // why the old file was unusable
    bool is_new = false;      // the journal has no data yet: earlier state must come from elsewhere
    // Why data of an earlier writer can be missing; empty: the journal is complete. Later openings report it
    // until a batch with is_whole is committed.
    std::string lost;
    // The readable content of the file that was moved aside; null: no such file, or nothing is readable.
    std::unique_ptr<Journal> salvaged;
  };
  // Creates (file 0600, missing folders 0700), migrates and checks the journal. A file that is not a journal,
  // is corrupt or has a newer schema is renamed to `<path>.unusable-<time>`, and a new journal begins.
  // Errors: conflict while another process has it open for writing; exhausted on a full disk; other errors if
  // the folder cannot be used.
  [[nodiscard]] static Result<Opened> open(const std::string& path, WallTime now);
  // Returns the readable rows of a file that `open` does not accept, in memory. Do not commit to it.
  // not_found: there is no file, and there never was one.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> salvage(const std::string& path);
  // Read-only view for one-shot commands while an agent can be writing. not_found if the journal is missing.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open_read_only(const std::string& path);

  // Renames a file that is not in use, with its companions; returns the new name. Only the newest kMaxAside
  // of these files remain.
  static constexpr std::size_t kMaxAside = 4;
  [[nodiscard]] static Result<std::string> move_aside(const std::string& path, WallTime now);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // Records that data of the writer will be missing: later openings report `lost` until a batch with is_whole
  // is committed.
  void set_behind();

  // Durable when it returns. Returns the ids of batch.events, in order. Errors: conflict (an event id exists
  // already), exhausted (disk full), unavailable (the disk does not answer), malformed (the file is damaged,
  // or was removed while open). After an error no part of the batch is stored.
  [[nodiscard]] Result<std::vector<std::uint64_t>> commit(const Batch& batch);

  [[nodiscard]] const std::string& path() const;
  // Number of rows that queries have skipped because their text is damaged.
  [[nodiscard]] std::size_t unreadable_rows() const;

  [[nodiscard]] Result<std::vector<Event>> events(const EventQuery& query) const;   // oldest first
  [[nodiscard]] Result<std::vector<Event>> newest_events(std::size_t limit) const;  // oldest first
  [[nodiscard]] Result<std::uint64_t> last_event_id() const;
  [[nodiscard]] Result<std::vector<Incident>> incidents(bool closed_too,
                                                        std::size_t limit) const;    // newest first
  [[nodiscard]] Result<std::vector<Operation>> operations(std::size_t limit) const;  // newest first
  [[nodiscard]] Result<std::vector<PassRecord>> pass_records() const;  // the newest for each GPU and test
  [[nodiscard]] Result<std::vector<LastSample>> last_samples(std::string_view boot_id) const;
  [[nodiscard]] Result<std::vector<StoredFinding>> findings() const;
  [[nodiscard]] Result<std::optional<std::string>> value(std::string_view name) const;

  // Deletes rows older than the age limit, then the oldest rows until the file fits. Open incidents and held
  // findings stay.
  [[nodiscard]] Status retain(const Retention& retention, WallTime now);

 private:
  struct Database;
  [[nodiscard]] Result<std::vector<std::uint64_t>> write(const Batch& batch);
  explicit Journal(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace autopilot::store
