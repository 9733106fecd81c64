// SPDX-License-Identifier: Apache-2.0
#include "logging/log.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/parse.hpp"

namespace autopilot::logging {
namespace {

constexpr std::size_t kMaxValue = 4096;
constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

std::atomic<LogFormat> format_in_use{LogFormat::text};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto created =
        std::make_shared<spdlog::logger>("autopilot", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern(kTextPattern, spdlog::pattern_time_type::utc);
    return created;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// A JSON string, also used for text values that need quoting.
std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : to_utf8(value.substr(0, kMaxValue))) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
      text += escape.data();
    } else {
      text += c;
    }
  }
  return text + "\"";
}

bool needs_quotes(std::string_view value) {
  if (value.empty() || value.size() > kMaxValue) return true;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '=' || c == '\\') return true;
  }
  return false;
}

}  // namespace

void set_log(LogLevel level, LogFormat format) {
  format_in_use = format;
  logger().set_level(spdlog_level(level));
  logger().set_pattern(format == LogFormat::json ? kJsonPattern : kTextPattern,
                       spdlog::pattern_time_type::utc);
}

void log(LogLevel level, std::string_view message, LogFields fields) {
  if (!logger().should_log(spdlog_level(level))) return;
  std::string line;
  if (format_in_use == LogFormat::json) {
    line = "\"message\":" + in_quotes(message);
    for (const auto& [name, value] : fields)
      line += "," + in_quotes(name) + ":" + in_quotes(value);
  } else {
    line = message;
    for (const auto& [name, value] : fields)
      line += " " + std::string(name) + "=" + (needs_quotes(value) ? in_quotes(value) : value);
  }
  logger().log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace autopilot::logging
