// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

// What statements of SQLite and of PostgreSQL have in common.
namespace autopilot::store {

// A parameter of a statement.
using SqlValue = std::variant<std::int64_t, std::string>;
using SqlValues = std::vector<SqlValue>;

// A row of a result, valid until the next one. Columns count from 0.
class SqlRow {
 public:
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;

 protected:
  ~SqlRow() = default;
};

// Called with each row, until it returns false.
using TakeRow = std::function<bool(const SqlRow& row)>;

}  // namespace autopilot::store
