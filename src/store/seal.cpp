// SPDX-License-Identifier: Apache-2.0
#include "store/seal.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/parse.hpp"

namespace autopilot::store {
namespace {

using sqlite::Connection;

constexpr std::string_view kCommits = "journal.commits";
constexpr std::string_view kSum = "journal.sum";
constexpr std::string_view kPutOwnFact =
    "INSERT INTO facts(name, value) VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
constexpr std::string_view kOwnFact = "SELECT value FROM facts WHERE name = ?";

struct Summed {
  std::string_view sql;
  int columns;
};
constexpr std::array<Summed, 3> kSummed{{
    {"SELECT check_id, boot_id, state, body FROM findings ORDER BY position", 4},
    {"SELECT id, opened, body FROM incidents WHERE closed IS NULL ORDER BY id", 3},
    {"SELECT name, value FROM facts WHERE name NOT IN ('journal.commits', 'journal.sum') ORDER BY name", 2},
}};

// FNV-1a: detects damage; it is not a protection against a user who can write the file.
class Sum {
 public:
  void add(std::string_view text) {
    for (const char c : text)
      add(static_cast<unsigned char>(c));
    constexpr unsigned char kEndOfText = 0xff;  // not a valid byte of UTF-8
    add(kEndOfText);
  }
  [[nodiscard]] std::string text() const { return std::to_string(hash_); }

 private:
  void add(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

Result<std::string> sum_of(const Connection& connection) {
  Sum sum;
  for (const auto& [sql, columns] : kSummed) {
    auto statement = TRY(connection.prepare(sql));
    while (TRY(statement.step()))
      for (int column = 0; column < columns; ++column)
        sum.add(statement.text(column));
    sum.add("");
  }
  return sum.text();
}

Result<std::optional<std::string>> own_fact(const Connection& connection, std::string_view name) {
  auto statement = TRY(connection.prepare(kOwnFact));
  statement.bind(1, name);
  if (!TRY(statement.step())) return std::nullopt;
  return statement.text(0);
}

Status put_own_fact(const Connection& connection, std::string_view name, std::string_view value) {
  auto put = TRY(connection.prepare(kPutOwnFact));
  put.bind(1, name).bind(2, value);
  return put.run();
}

}  // namespace

Status write_seal(Connection& connection, const Batch& batch, std::uint64_t commits) {
  TRY_STATUS(put_own_fact(connection, kCommits, std::to_string(commits)));
  if (!batch.findings && batch.incidents.empty() && batch.values.empty()) return {};
  return put_own_fact(connection, kSum, TRY(sum_of(connection)));
}

Result<std::uint64_t> commits_of(const Connection& connection) {
  const auto text = TRY(own_fact(connection, kCommits));
  if (!text) return std::uint64_t{0};
  const auto commits = parse_number<std::uint64_t>(*text);
  if (!commits) return fail(Errc::malformed, "invalid number of commits: \"" + *text + "\"");
  return *commits;
}

Status check_sum(const Connection& connection) {
  const auto written = TRY(own_fact(connection, kSum));
  if (!written || *written == TRY(sum_of(connection))) return {};
  return fail(Errc::malformed, "the checksum does not match: rows changed after they were written");
}

}  // namespace autopilot::store
