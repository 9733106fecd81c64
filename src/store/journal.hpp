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
  std::string boot_id{};  // last_samples() finds it by this; must be set
};

// What the state machine must know after a restart: one held finding.
struct StoredFinding {
  std::string check;
  Finding finding;
  std::string boot_id;
  std::string state;  // opaque to the store: the state machine's own words
};

// Everything one commit writes, all or nothing.
struct Batch {
  std::vector<Event> events;        // with their ids; one without (0) gets the next
  std::vector<Incident> incidents;  // inserted or replaced by id
  std::vector<Operation> operations;
  std::vector<PassRecord> pass_records;  // without a time: the one of this GPU and test is taken away
  std::vector<LastSample> last_samples;
  std::optional<std::vector<StoredFinding>> findings;       // replaces the whole set
  std::vector<std::pair<std::string, std::string>> values;  // small facts: "kernel_log.position"
  // With it the journal has all that its writer knows, whatever was lost before.
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

// The node's memory: SQLite in WAL mode, synchronous=FULL, one writer. Every call may block on the disk: use
// it on a lane. Not thread-safe; one owner.
class Journal {
 public:
  static constexpr int kSchemaVersion = 2;
  // Longer texts are cut and longer lists end early; both say so in the row.
  static constexpr std::size_t kMaxTextBytes = 4096;
  static constexpr std::size_t kMaxListItems = 64;
  static constexpr std::size_t kMaxObservations = 1024;
  // Of one answer.
  static constexpr std::size_t kMaxRows = 100'000;
  // JSON holds such a number exactly; at a thousand events a second they last for 285,000 years.
  static constexpr std::uint64_t kMaxEventId = std::uint64_t{1} << 53;

  struct Opened {
    std::unique_ptr<Journal> journal;
    std::string moved_aside;  // non-empty: the old file could not be used and now has this name
    std::string reason;       // why
    bool is_new = false;      // nothing was ever told in it: what was known before must come from elsewhere
    // Why what an earlier writer knew may not be all there; empty: it is. So it stays in later openings until
    // a batch that is whole is committed.
    std::string lost;
    // What could be read of the file that was moved aside; null: there was none, or nothing of it.
    std::unique_ptr<Journal> salvaged;
  };
  // Creates (file 0600, missing folders 0700), migrates, checks. A file that is no journal, corrupt, or of a
  // newer schema is renamed to `<path>.unusable-<time>` and a new one begins. Errors: conflict while another
  // process has it open for writing; exhausted on a full disk; else the folder itself cannot be used.
  [[nodiscard]] static Result<Opened> open(const std::string& path, WallTime now);
  // In memory and not to be committed to: the rows that can be read of a file that `open` does not give.
  // not_found: there is none, and there never was one.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> salvage(const std::string& path);
  // Read-only view for one-shot commands while an agent may be writing. not_found when there is none.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open_read_only(const std::string& path);

  // Renames a file that is in use by nobody, with its companions; gives the new name. Of those kept aside
  // only the newest kMaxAside remain.
  static constexpr std::size_t kMaxAside = 4;
  [[nodiscard]] static Result<std::string> move_aside(const std::string& path, WallTime now);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // Something the writer knows will not come: until a batch that is whole, later openings say `lost`.
  void set_behind();

  // Durable when it returns. Gives the ids of batch.events, in order. Errors: conflict (an event's id is
  // there already), exhausted (disk full), unavailable (the disk does not answer), malformed (the file is
  // damaged, or was removed under us). After an error nothing of the batch is there.
  [[nodiscard]] Result<std::vector<std::uint64_t>> commit(const Batch& batch);

  [[nodiscard]] const std::string& path() const;
  // Rows the queries below have left out because their text is damaged.
  [[nodiscard]] std::size_t unreadable_rows() const;

  [[nodiscard]] Result<std::vector<Event>> events(const EventQuery& query) const;   // oldest first
  [[nodiscard]] Result<std::vector<Event>> newest_events(std::size_t limit) const;  // oldest first
  [[nodiscard]] Result<std::uint64_t> last_event_id() const;
  [[nodiscard]] Result<std::vector<Incident>> incidents(bool closed_too,
                                                        std::size_t limit) const;    // newest first
  [[nodiscard]] Result<std::vector<Operation>> operations(std::size_t limit) const;  // newest first
  [[nodiscard]] Result<std::vector<PassRecord>> pass_records() const;  // the newest per GPU and test
  [[nodiscard]] Result<std::vector<LastSample>> last_samples(std::string_view boot_id) const;
  [[nodiscard]] Result<std::vector<StoredFinding>> findings() const;
  [[nodiscard]] Result<std::optional<std::string>> value(std::string_view name) const;

  // Deletes what is older than the age, then the oldest until the file fits; open incidents and held findings
  // stay.
  [[nodiscard]] Status retain(const Retention& retention, WallTime now);

 private:
  struct Database;
  [[nodiscard]] Result<std::vector<std::uint64_t>> write(const Batch& batch);
  explicit Journal(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace autopilot::store
