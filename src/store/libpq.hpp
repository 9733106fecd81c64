// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result.hpp"

// Our own declarations of what is used of libpq, the client library of PostgreSQL. It is loaded when the
// first connection string is used, so that a machine without PostgreSQL does not need it.
namespace autopilot::store::libpq {

struct Connection;  // PGconn
struct Answer;      // PGresult
struct Option;      // PQconninfoOption

inline constexpr int kConnectionOk = 0;
inline constexpr int kCommandOk = 1;
inline constexpr int kTuplesOk = 2;
inline constexpr int kFieldSqlState = 'C';
inline constexpr int kFieldMessage = 'M';
inline constexpr unsigned kTypeOfInteger = 20;  // int8
inline constexpr unsigned kTypeOfText = 25;

// name, result, arguments
#define AUTOPILOT_LIBPQ_FUNCTIONS(X)                                                                      \
  X(PQconnectdbParams, Connection*, (const char* const* keywords, const char* const* values, int expand)) \
  X(PQfinish, void, (Connection*))                                                                        \
  X(PQstatus, int, (const Connection*))                                                                   \
  X(PQerrorMessage, char*, (const Connection*))                                                           \
  X(PQconnectionNeedsPassword, int, (const Connection*))                                                  \
  X(PQconnectionUsedPassword, int, (const Connection*))                                                   \
  X(PQsocket, int, (const Connection*))                                                                   \
  X(PQsetnonblocking, int, (Connection*, int))                                                            \
  X(PQsetNoticeProcessor, void*, (Connection*, void (*)(void*, const char*), void*))                      \
  X(PQsendQueryParams, int,                                                                               \
    (Connection*, const char* sql, int count, const unsigned* types, const char* const* values,           \
     const int* lengths, const int* formats, int format))                                                 \
  X(PQflush, int, (Connection*))                                                                          \
  X(PQconsumeInput, int, (Connection*))                                                                   \
  X(PQisBusy, int, (Connection*))                                                                         \
  X(PQgetResult, Answer*, (Connection*))                                                                  \
  X(PQresultStatus, int, (const Answer*))                                                                 \
  X(PQresultErrorField, char*, (const Answer*, int field))                                                \
  X(PQntuples, int, (const Answer*))                                                                      \
  X(PQgetvalue, char*, (const Answer*, int row, int column))                                              \
  X(PQgetlength, int, (const Answer*, int row, int column))                                               \
  X(PQcmdTuples, char*, (Answer*))                                                                        \
  X(PQclear, void, (Answer*))                                                                             \
  X(PQconninfoParse, Option*, (const char* text, char** problem))                                         \
  X(PQconninfoFree, void, (Option*))                                                                      \
  X(PQfreemem, void, (void*))

struct Functions {
#define AUTOPILOT_LIBPQ_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  AUTOPILOT_LIBPQ_FUNCTIONS(AUTOPILOT_LIBPQ_MEMBER)
#undef AUTOPILOT_LIBPQ_MEMBER
};

// Loads the library at the first call and keeps it. Thread-safe. unsupported: the library is missing or
// cannot be used; the text names the package.
[[nodiscard]] Result<const Functions*> functions();

}  // namespace autopilot::store::libpq
