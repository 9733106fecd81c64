// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon.hpp"

#include <sys/stat.h>

#include "config/forms.hpp"
#include "telemetry/log.hpp"

namespace autopilot::cli {
namespace {

telemetry::LogLevel level_of(const std::string& word) {
  if (word == "debug") return telemetry::LogLevel::debug;
  if (word == "warning") return telemetry::LogLevel::warning;
  if (word == "error") return telemetry::LogLevel::error;
  return telemetry::LogLevel::info;
}

}  // namespace

void set_log(const std::string& level, const std::string& format) {
  telemetry::set_log(level_of(level),
                     format == "json" ? telemetry::LogFormat::json : telemetry::LogFormat::text);
}

std::string version_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  return std::to_string(status.st_ino) + "." + std::to_string(status.st_size) + "." +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

std::string listen_problem(const std::string& text) {
  if (config::is_listen_address(text)) return "";
  return "expected an address and a port such as 127.0.0.1:3333 or [::1]:3333, or \"\", not '" + text + "'";
}

}  // namespace autopilot::cli
