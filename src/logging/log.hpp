// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace autopilot::logging {

enum class LogLevel : unsigned char { debug, info, warning, error };
enum class LogFormat : unsigned char { text, json };

// Call it once at start, before threads. Default: info, text, standard error.
void set_log(LogLevel level, LogFormat format);

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

// Writes one line to standard error: time, level, message, key=value fields. Control characters in values are
// escaped; values are truncated at 4 KiB. Thread-safe. Not for checks, judges or the state machine: they
// return results instead.
void log(LogLevel level, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view message, LogFields fields = {}) {
  log(LogLevel::debug, message, fields);
}
inline void log_info(std::string_view message, LogFields fields = {}) {
  log(LogLevel::info, message, fields);
}
inline void log_warning(std::string_view message, LogFields fields = {}) {
  log(LogLevel::warning, message, fields);
}
inline void log_error(std::string_view message, LogFields fields = {}) {
  log(LogLevel::error, message, fields);
}

}  // namespace autopilot::logging
