// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

// A wrapper of SQLite for this folder only. Errors: malformed (corrupt, or not a database), exhausted (disk
// full), conflict (a constraint), denied, unavailable (the disk does not answer, or another process holds the
// lock).
namespace autopilot::store::sqlite {

class Statement {
 public:
  // Parameters count from 1, columns from 0.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view value);
  Statement& bind_null(int parameter);
  // Binds the value of a column of another statement that is at a row.
  Statement& bind_column(int parameter, const Statement& row, int column);

  // True if there is a row.
  Result<bool> step();
  // Runs to the end and resets the statement for the next parameters.
  Status run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* connection, sqlite3_stmt* statement);

  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_result_ = 0;  // first failure
};

enum class Access : std::uint8_t { read_write, read_only, immutable };

class Connection {
 public:
  static Result<Connection> open(const std::string& path, Access access);

  // One or more statements without parameters.
  Status execute(const std::string& sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
  // The first column of the first row; nullopt without a row.
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view sql) const;
  [[nodiscard]] Result<std::optional<std::string>> text(std::string_view sql) const;
  // True although it was opened for writing, if the file's permissions or its header forbid writing.
  [[nodiscard]] bool is_read_only() const;
  // Rows the last statement inserted, changed or deleted.
  [[nodiscard]] std::int64_t changes() const;
  // All pages, in the format of a file.
  [[nodiscard]] Result<std::string> image() const;
  // Replaces the content of a database in memory.
  Status take_image(std::string_view image);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Connection(sqlite3* connection) : connection_(connection) {}
  std::unique_ptr<sqlite3, Close> connection_;
};

// A transaction: rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction(Transaction&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace autopilot::store::sqlite
