// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"

namespace autopilot::store {

struct HistoryRetention {
  Duration age = std::chrono::hours{24 * 730};
  std::uint64_t bytes = std::uint64_t{256} << 20;
};

// An empty member selects everything.
struct HistoryQuery {
  std::vector<std::string> types;  // words of learning::kRecordTypes
  std::string id;                  // of one type: it is fast only with one
  std::optional<std::string> cluster;
  std::string node;
  std::string gpu;      // serial or UUID, on any node
  std::string job;      // that ran, was hit, or caused a validation
  std::string outcome;  // learning::outcome_of
  // Records that overlap [since, until); a record that is not over has no end.
  std::optional<WallTime> since, until;
  bool is_oldest_first = false;  // by their begin
  std::size_t limit = 1000;      // at most History::kMaxRows; visit() ignores it
};

struct HistoryCount {
  std::string key;
  std::uint64_t count = 0;
};

struct HistoryStatus {
  std::uint64_t bytes = 0;                 // file and log, or table and indexes
  std::vector<HistoryCount> records;       // by type
  std::optional<WallTime> oldest, newest;  // begin
};

class HistoryDatabase;

// What post-flight remembers, in a file (SQLite) or in a PostgreSQL database. Several processes can read and
// write one place. Every call can block on the disk or the network: use it on a worker thread. Not
// thread-safe; one owner.
class History {
 public:
  static constexpr int kSchemaVersion = 2;
  static constexpr std::size_t kMaxRows = 100'000;

  struct Opened {
    std::unique_ptr<History> history;
    std::string moved_aside;  // not empty: the old file was unusable and now has this name
    std::string reason;       // why the old file was unusable
  };
  enum class IfUnusable : std::uint8_t { move_aside, fail };
  // `place`: a path, or a connection string of PostgreSQL (core/database_place.hpp). Creates what is missing
  // (file 0600, folders 0700; tables), migrates and checks it. A file that is not a history, is corrupt or
  // has a newer schema is renamed to `<path>.unusable-<time>`, or refused: malformed, unsupported. A database
  // with a newer schema is always refused: unsupported. Other errors: exhausted on a full disk; denied;
  // unavailable: another process opens it, or the disk or server does not answer.
  [[nodiscard]] static Result<Opened> open(const std::string& place, WallTime now,
                                           IfUnusable if_unusable = IfUnusable::move_aside);
  // For commands while an agent can be writing. not_found: there is no file or table, or it has no content
  // yet.
  [[nodiscard]] static Result<std::unique_ptr<History>> open_read_only(const std::string& place);

  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History();

  // Stores all records or none; durable when it returns. A record replaces the one of its type and id.
  // Errors: conflict (a record is outside the limits of learning::check), exhausted (disk full), unavailable
  // (the disk or server does not answer, or another process writes), malformed (the file is damaged, or was
  // removed while open), denied (read-only).
  [[nodiscard]] Status put(std::span<const learning::HistoryRecord> records);

  // The path, or the connection string without its password.
  [[nodiscard]] const std::string& place() const;
  // Number of rows that queries have skipped because their text is damaged.
  [[nodiscard]] std::size_t unreadable_rows() const;

  // Newest first, unless the query states otherwise. Questions and their form:
  //   all of a node: {.node}; of a card, also after it moved: {.gpu}; jobs on a node in an interval:
  //   {.types = {"job"}, .node, .since, .until}; validations that failed: {.types = {"validation"},
  //   .outcome = "failed", .since}.
  [[nodiscard]] Result<std::vector<learning::HistoryRecord>> records(const HistoryQuery& query) const;
  // The same, one by one and without limit, until `take` returns false; it must not visit or ask for records.
  [[nodiscard]] Status visit(const HistoryQuery& query,
                             const std::function<bool(learning::HistoryRecord record)>& take) const;
  // Faults that began at or after that time, by class, most first.
  [[nodiscard]] Result<std::vector<HistoryCount>> faults_by_class(WallTime since) const;
  // Nodes with most faults that began at or after that time.
  [[nodiscard]] Result<std::vector<HistoryCount>> nodes_with_most_faults(WallTime since,
                                                                         std::size_t limit) const;
  [[nodiscard]] Result<bool> has(std::string_view type, std::string_view id) const;
  [[nodiscard]] Result<HistoryStatus> status() const;
  // Of the file and its log; 0 if the file is gone. Of a database: when it was opened, or retained last.
  [[nodiscard]] std::uint64_t size_bytes() const;

  // Of a database: connects if the connection was lost, or closed by rest(). Other calls do so too.
  [[nodiscard]] Status ready();
  // Closes the connection to a database until the next call: a server has few of them.
  void rest();

  // Deletes records that began before the age limit, in one call at most the oldest day of them: a clock that
  // is wrong for a while does not delete all. Then the oldest until the file fits: first jobs, validations,
  // measurements and versions, then all types. In short transactions: other writers get in between. A
  // PostgreSQL database has no limit of bytes, and the time is that of its server, if that is earlier.
  [[nodiscard]] Status retain(const HistoryRetention& retention, WallTime now);

 private:
  explicit History(std::unique_ptr<HistoryDatabase> database);
  [[nodiscard]] Status read(const HistoryQuery& query, std::optional<std::size_t> limit,
                            const std::function<bool(learning::HistoryRecord record)>& take) const;

  std::unique_ptr<HistoryDatabase> database_;
  mutable std::size_t unreadable_ = 0;
};

}  // namespace autopilot::store
