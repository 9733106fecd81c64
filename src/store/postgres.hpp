// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/libpq.hpp"
#include "store/sql_value.hpp"

// A wrapper of libpq for this folder only. Errors: unavailable (no server answers, it restarts, or a time
// limit passed), denied (password, permission, read-only), not_found (a table is missing), exhausted (disk
// full), conflict (a constraint, or a value that the database refuses), unsupported (no library), malformed
// (the connection string). No text of an error contains a password.
namespace autopilot::store::postgres {

// Of one statement: the server ends it after `statement`; if the server does not answer at all, the
// connection is given up a little later.
struct Limits {
  Duration statement = std::chrono::seconds{10};
  bool is_read_only = false;
};

class Connection;

// The result of a statement.
class Answer {
 public:
  [[nodiscard]] int rows() const;
  // Rows that the statement inserted, changed or deleted.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const;
  // False if `take` has returned false.
  bool visit(const TakeRow& take) const;

 private:
  friend class Connection;
  Answer(const libpq::Functions& pq, libpq::Answer* answer) : pq_(&pq), answer_(answer, pq.PQclear) {}
  const libpq::Functions* pq_;
  std::unique_ptr<libpq::Answer, void (*)(libpq::Answer*)> answer_;
};

// Not thread-safe. Every call can wait for the network, up to the limits.
class Connection {
 public:
  // At most five seconds for each host of the string, besides the time that the name server takes.
  static Result<Connection> open(const std::string& place, const Limits& limits);

  // One statement. The n-th `?` is the n-th value; the statement has no other question mark.
  Result<Answer> run(std::string_view sql, const SqlValues& values = {});
  // From the next statement on.
  Status set_statement_limit(Duration limit);
  // False after close(), and after an error that ends the connection: open another one.
  [[nodiscard]] bool is_usable() const;
  void close() { connection_.reset(); }

 private:
  Connection(const libpq::Functions& pq, libpq::Connection* connection, std::string place)
      : pq_(&pq), connection_(connection, pq.PQfinish), place_(std::move(place)) {}
  Status send(const std::string& sql, const SqlValues& values);
  Status wait(short events);
  Result<Answer> take_answer();
  Status flush();
  Error lost(std::string_view why);

  const libpq::Functions* pq_;
  std::unique_ptr<libpq::Connection, void (*)(libpq::Connection*)> connection_;
  std::string place_;  // printable
  Duration limit_{};
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

// The option that libpq does not know, from its text about a connection string. Empty: it is none, or what
// libpq quotes can be a part of a password (a value with a space or an & that is not quoted or encoded).
[[nodiscard]] std::string unknown_option(std::string_view problem, std::string_view place);

// For the code of an error of the server.
[[nodiscard]] Errc errc_of_sqlstate(std::string_view state);

}  // namespace autopilot::store::postgres
