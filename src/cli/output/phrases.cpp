// SPDX-License-Identifier: Apache-2.0
#include "cli/output/phrases.hpp"

#include <algorithm>

namespace autopilot::cli {

namespace {

std::string_view noun_of(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::gpu_instance:
      return "GPU instance";
    case SubjectKind::nvswitch:
      return "NVSwitch";
    case SubjectKind::domain:
      return "NVLink domain";
    default:
      return to_string(kind);
  }
}

std::string gpu_text(const Subject& gpu) {
  return gpu.index ? "GPU " + std::to_string(*gpu.index) + " (" + gpu.key + ")" : "GPU " + gpu.key;
}

// The first `length` characters of the time of day.
std::string utc_text(WallTime then, WallTime now, std::size_t length) {
  constexpr std::size_t kDate = 10;  // "2026-11-21T14:02:10.000Z"
  const std::string text = format_time(then);
  const std::string date = text.substr(0, kDate);
  const bool is_today = format_time(now).starts_with(date);
  return (is_today ? "" : date + " ") + text.substr(kDate + 1, length) + " UTC";
}

}  // namespace

std::string subject_text(const Subject& subject) {
  const auto slash = subject.key.rfind('/');
  const bool has_part = slash != std::string::npos;
  switch (subject.kind) {
    case SubjectKind::host:
      return "";
    case SubjectKind::gpu:
      return gpu_text(subject);
    case SubjectKind::disk:
      return subject.key;
    case SubjectKind::nic_port:
      return has_part ? subject.key.substr(0, slash) + " port " + subject.key.substr(slash + 1) : subject.key;
    case SubjectKind::nvlink:
      if (has_part)
        return "NVLink " + subject.key.substr(slash + 1) + " of GPU " + subject.key.substr(0, slash);
      [[fallthrough]];
    default:
      return std::string(noun_of(subject.kind)) + " " + subject.key;
  }
}

std::string count_words(std::size_t count, std::string_view one, std::string_view several) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : several);
}

std::string without_result_text(std::size_t unsupported, std::size_t not_started) {
  std::string text;
  if (unsupported > 0) text = count_words(unsupported, "does", "do") + " not apply to this machine";
  if (not_started > 0)
    text += (text.empty() ? "" : ", ") +
            count_words(not_started, "diagnostic was not started", "diagnostics were not started");
  return text;
}

std::string age_of(WallTime then, WallTime now) {
  using namespace std::chrono;
  // The difference of two distant years overflows a Duration.
  const Duration age = std::max(std::max(now, WallTime{}) - std::max(then, WallTime{}), Duration{0});
  if (age < minutes{1}) return std::to_string(floor<seconds>(age).count()) + "s";
  if (age < hours{1}) return std::to_string(floor<minutes>(age).count()) + "m";
  if (age < days{1}) return std::to_string(floor<hours>(age).count()) + "h";
  return std::to_string(floor<days>(age).count()) + "d";
}

std::string clock_of(WallTime then, WallTime now) {
  return utc_text(then, now, std::string_view("14:02").size());
}

std::string precise_clock_of(WallTime then, WallTime now) {
  return utc_text(then, now, std::string_view("14:02:10").size());
}

}  // namespace autopilot::cli
