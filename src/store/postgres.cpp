// SPDX-License-Identifier: Apache-2.0
#include "store/postgres.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <utility>
#include <vector>

#include "core/database_place.hpp"
#include "core/parse.hpp"

namespace autopilot::store::postgres {
namespace {

constexpr const char* kConnectSeconds = "5";
// After which a server that does not even end the statement is given up.
constexpr Duration kBeyondLimit = std::chrono::seconds{2};

void drop_notice(void* /*context*/, const char* /*text*/) {}

// One line without control characters.
std::string one_line(std::string_view text) {
  std::string line;
  for (const std::string_view word : split_words(text))
    line.append(line.empty() ? "" : " ").append(word);
  return to_utf8(line.substr(0, 500));
}

// `?` to `$1`, `$2` and so on.
std::string numbered(std::string_view sql) {
  std::string text;
  int number = 0;
  for (const char c : sql) {
    if (c == '?')
      text += "$" + std::to_string(++number);
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string unknown_option(std::string_view problem, std::string_view place) {
  constexpr std::array<std::string_view, 2> begins{"invalid connection option \"",
                                                   "invalid URI query parameter: \""};
  for (const std::string_view begin : begins) {
    if (!problem.starts_with(begin)) continue;
    const std::string_view rest = problem.substr(begin.size());
    const std::string name(rest.substr(0, rest.find('"')));
    const bool is_word = !name.empty() && name.size() <= 40 &&
                         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    const std::size_t first = place.find(name + "="), last = place.rfind(name + "=");
    if (!is_word || first == std::string_view::npos) return {};
    if (place.substr(0, last).find("pass") != std::string_view::npos) return {};
    return place.find('@', first) == std::string_view::npos ? name : "";
  }
  return {};
}

namespace {

Status check_string(const libpq::Functions& pq, const std::string& place) {
  const std::string form =
      ": malformed connection string; a character of a password such as @, : or / must be percent-encoded in "
      "a "
      "URL, and a value with spaces quoted in the form of keywords. A file of passwords (PGPASSFILE) avoids "
      "both";
  if (!is_well_formed_postgres(place) || place.find('\0') != std::string::npos)
    return fail(Errc::malformed, "postgresql://" + form);
  char* problem = nullptr;
  libpq::Option* options = pq.PQconninfoParse(place.c_str(), &problem);
  const std::string option = unknown_option(problem != nullptr ? problem : "", place);
  if (problem != nullptr) pq.PQfreemem(problem);
  if (options == nullptr && !option.empty())
    return fail(Errc::malformed, printable_place(place) + ": libpq has no connection option \"" + option +
                                     "\"; correct or remove it");
  if (options == nullptr) return fail(Errc::malformed, printable_place(place) + form);
  pq.PQconninfoFree(options);
  return {};
}

// A member of a row of an answer.
class AnswerRow final : public SqlRow {
 public:
  AnswerRow(const Answer& answer, int row) : answer_(answer), row_(row) {}
  [[nodiscard]] std::int64_t integer(int column) const override { return answer_.integer(row_, column); }
  [[nodiscard]] std::string text(int column) const override { return answer_.text(row_, column); }

 private:
  const Answer& answer_;
  int row_;
};

}  // namespace

Errc errc_of_sqlstate(std::string_view state) {
  // A single code first, then the class that its first two characters name.
  if (state == "42501" || state == "25006") return Errc::denied;     // permission, read-only
  if (state == "42P01" || state == "3F000") return Errc::not_found;  // table, schema
  if (state == "53100") return Errc::exhausted;                      // disk full
  const std::string_view kind = state.substr(0, 2);
  if (kind == "28") return Errc::denied;                                    // password
  if (kind == "22" || kind == "23" || kind == "54") return Errc::conflict;  // value, constraint, too large
  // Connection, transaction that met another one, resources, intervention, disk.
  if (kind == "08" || kind == "40" || kind == "53" || kind == "55" || kind == "57" || kind == "58")
    return Errc::unavailable;
  return Errc::internal;
}

int Answer::rows() const {
  return pq_->PQntuples(answer_.get());
}

std::int64_t Answer::changes() const {
  return parse_number<std::int64_t>(pq_->PQcmdTuples(answer_.get())).value_or(0);
}

std::string Answer::text(int row, int column) const {
  return {pq_->PQgetvalue(answer_.get(), row, column),
          static_cast<std::size_t>(pq_->PQgetlength(answer_.get(), row, column))};
}

std::int64_t Answer::integer(int row, int column) const {
  return parse_number<std::int64_t>(text(row, column)).value_or(0);
}

bool Answer::visit(const TakeRow& take) const {
  for (int row = 0; row < rows(); ++row)
    if (!take(AnswerRow(*this, row))) return false;
  return true;
}

Result<Connection> Connection::open(const std::string& place, const Limits& limits) {
  const libpq::Functions& pq = *TRY(libpq::functions());
  TRY_STATUS(check_string(pq, place));
  // A later keyword replaces what the string states; an earlier one is only a default.
  const std::array<const char*, 5> keywords{"fallback_application_name", "dbname", "connect_timeout",
                                            "client_encoding", nullptr};
  const std::array<const char*, 5> values{"autopilot", place.c_str(), kConnectSeconds, "UTF8", nullptr};
  Connection connection(pq, pq.PQconnectdbParams(keywords.data(), values.data(), 1), printable_place(place));
  libpq::Connection* raw = connection.connection_.get();
  if (raw == nullptr) return fail(Errc::exhausted, connection.place_ + ": out of memory");
  if (pq.PQstatus(raw) != libpq::kConnectionOk) {
    const bool is_password = pq.PQconnectionNeedsPassword(raw) != 0 || pq.PQconnectionUsedPassword(raw) != 0;
    return fail(is_password ? Errc::denied : Errc::unavailable,
                connection.place_ + ": " + one_line(pq.PQerrorMessage(raw)));
  }
  pq.PQsetNoticeProcessor(raw, drop_notice, nullptr);
  if (pq.PQsetnonblocking(raw, 1) != 0) return fail(connection.lost("cannot be made non-blocking"));
  TRY_STATUS(connection.set_statement_limit(limits.statement));
  if (limits.is_read_only)
    TRY(connection.run("SELECT set_config('default_transaction_read_only', 'on', false)"));
  return connection;
}

Status Connection::set_statement_limit(Duration limit) {
  limit_ = limit;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  TRY(run("SELECT set_config('statement_timeout', ?, false)", {std::to_string(milliseconds)}));
  return {};
}

bool Connection::is_usable() const {
  return connection_ != nullptr && pq_->PQstatus(connection_.get()) == libpq::kConnectionOk;
}

Error Connection::lost(std::string_view why) {
  Error error{Errc::unavailable, place_ + ": " + one_line(why)};
  connection_.reset();
  return error;
}

Status Connection::wait(short events) {
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(limit_ + kBeyondLimit).count();
  pollfd socket{.fd = pq_->PQsocket(connection_.get()), .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&socket, 1, static_cast<int>(limit));
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return {};
  if (ready < 0) return fail(lost("the connection cannot be watched"));
  return fail(lost("the server has not answered for " + std::to_string(limit / 1000) + " seconds"));
}

Status Connection::send(const std::string& sql, const SqlValues& values) {
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  std::vector<unsigned> types;
  texts.reserve(values.size());  // the pointers remain valid
  for (const SqlValue& value : values) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    const std::string* text = std::get_if<std::string>(&value);
    pointers.push_back(text != nullptr ? text->c_str()
                                       : texts.emplace_back(std::to_string(*integer)).c_str());
    types.push_back(text != nullptr ? libpq::kTypeOfText : libpq::kTypeOfInteger);
  }
  if (pq_->PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), types.data(),
                             pointers.data(), nullptr, nullptr, 0) == 0)
    return fail(lost(pq_->PQerrorMessage(connection_.get())));
  return flush();
}

// While the server does not read, it can wait until we have read what it writes.
Status Connection::flush() {
  for (;;) {
    const int left = pq_->PQflush(connection_.get());
    if (left == 0) return {};
    if (left < 0) return fail(lost(pq_->PQerrorMessage(connection_.get())));
    TRY_STATUS(wait(POLLIN | POLLOUT));
    if (pq_->PQconsumeInput(connection_.get()) == 0)
      return fail(lost(pq_->PQerrorMessage(connection_.get())));
  }
}

Result<Answer> Connection::take_answer() {
  while (pq_->PQisBusy(connection_.get()) != 0) {
    TRY_STATUS(wait(POLLIN));
    if (pq_->PQconsumeInput(connection_.get()) == 0)
      return fail(lost(pq_->PQerrorMessage(connection_.get())));
  }
  return Answer(*pq_, pq_->PQgetResult(connection_.get()));
}

Result<Answer> Connection::run(std::string_view sql, const SqlValues& values) {
  if (!is_usable()) return fail(lost("the connection was lost"));
  TRY_STATUS(send(numbered(sql), values));
  Answer answer = TRY(take_answer());
  // The end of the statement.
  while (TRY(take_answer()).answer_ != nullptr) {
  }
  const int status = answer.answer_ == nullptr ? -1 : pq_->PQresultStatus(answer.answer_.get());
  if (status == libpq::kCommandOk || status == libpq::kTuplesOk) return answer;
  const char* state = answer.answer_ == nullptr
                          ? nullptr
                          : pq_->PQresultErrorField(answer.answer_.get(), libpq::kFieldSqlState);
  if (state == nullptr) return fail(lost(pq_->PQerrorMessage(connection_.get())));
  const char* message = pq_->PQresultErrorField(answer.answer_.get(), libpq::kFieldMessage);
  Error error{errc_of_sqlstate(state), place_ + ": " + one_line(message != nullptr ? message : "no message") +
                                           " (SQLSTATE " + state + ")"};
  // The server ends, or has ended, this connection.
  if (std::string_view(state).starts_with("57P") || std::string_view(state).starts_with("08"))
    connection_.reset();
  return fail(std::move(error));
}

Result<Transaction> Transaction::begin(Connection& connection) {
  TRY(connection.run("BEGIN"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr && connection_->is_usable()) static_cast<void>(connection_->run("ROLLBACK"));
}

Status Transaction::commit() {
  TRY(connection_->run("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace autopilot::store::postgres
