// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/sql_value.hpp"

// What differs between the databases that can hold history. The statements are those of history.cpp for all
// of them: standard SQL with `?` for parameters, texts and 64-bit integers. Texts are compared by their
// bytes.
namespace autopilot::store {

class HistoryDatabase {
 public:
  // type, id, cluster, node, gpu, job, outcome, begin_ns, end_ns, body
  static constexpr std::array<std::string_view, 10> kColumns{"type", "id",      "cluster",  "node",   "gpu",
                                                             "job",  "outcome", "begin_ns", "end_ns", "body"};

  HistoryDatabase() = default;
  HistoryDatabase(const HistoryDatabase&) = delete;
  HistoryDatabase& operator=(const HistoryDatabase&) = delete;
  virtual ~HistoryDatabase() = default;

  // The path of the file, or the connection string without its password.
  [[nodiscard]] virtual const std::string& place() const = 0;
  [[nodiscard]] virtual bool is_writable() const = 0;
  [[nodiscard]] virtual Status select(const std::string& sql, const SqlValues& values,
                                      const TakeRow& take) const = 0;
  // For results of any size.
  [[nodiscard]] virtual Status walk(const std::string& sql, const SqlValues& values,
                                    const TakeRow& take) const = 0;
  // Stores all rows or none, each with a value for each of kColumns; durable when it returns. A row replaces
  // the one of its type and id.
  [[nodiscard]] virtual Status put(const std::vector<SqlValues>& rows) = 0;
  // Runs a statement, and returns how many rows it deleted.
  [[nodiscard]] virtual Result<std::int64_t> remove(const std::string& sql, const SqlValues& values) = 0;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  // Connects if no connection is open; every other call does so too.
  [[nodiscard]] virtual Status ready() { return {}; }
  // Closes a connection that nothing needs for now.
  virtual void rest() {}

  // The time by which records are old: that of the caller, unless the database has a clock that others use
  // too.
  [[nodiscard]] virtual Result<WallTime> retention_time(WallTime now) = 0;
  // Deletes the oldest records until the database fits, and gives back what is free.
  [[nodiscard]] virtual Status shrink(std::uint64_t bytes) = 0;
};

// Deletes records of those types that began earlier, in short transactions.
[[nodiscard]] Status delete_history_before(HistoryDatabase& database, std::int64_t begin,
                                           std::span<const std::string_view> types);
// Begin of the oldest record of any type; nullopt: there is none.
[[nodiscard]] Result<std::optional<std::int64_t>> oldest_begin(const HistoryDatabase& database);

}  // namespace autopilot::store
