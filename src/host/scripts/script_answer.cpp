// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/script_answer.hpp"

#include <boost/json.hpp>
#include <optional>

#include "host/kernel_log/kmsg_source.hpp"
#include "host/scripts/confined_program.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

std::string first_line(const std::string& text) {
  return clean_log_text(text.substr(0, text.find('\n')), ScriptAnswer::kMaxMessage);
}

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::malformed, "the answer of the script: " + what);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string_view::npos;
}

Result<ScriptReading> read_reading(const json::value& value) {
  const auto* object = value.if_object();
  const auto* name = object == nullptr ? nullptr : object->if_contains("name");
  const auto* number = object == nullptr ? nullptr : object->if_contains("value");
  if (name == nullptr || !name->is_string() || number == nullptr || !number->is_number())
    return malformed("each of `observations` needs a `name` and a number as `value`");
  ScriptReading reading{std::string(name->get_string()), number->to_number<double>(), ""};
  if (!is_name(reading.name)) return malformed("`name` must be of a-z, 0-9, _ and . and not longer than 64");
  if (const auto* unit = object->if_contains("unit")) {
    if (!unit->is_string() || unit->get_string().size() > 32) return malformed("`unit` must be a short word");
    reading.unit = std::string(unit->get_string());
  }
  return reading;
}

Result<ScriptAnswer> read_json(const std::string& text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return malformed("not a JSON object");
  const auto& object = value.get_object();
  ScriptAnswer answer;
  const auto* health = object.if_contains("health");
  const auto parsed = health != nullptr && health->is_string()
                          ? parse_health(std::string_view(health->get_string()))
                          : std::nullopt;
  if (!parsed || *parsed == Health::unsupported)
    return malformed("`health` must be healthy, degraded, failed or unknown");
  answer.health = *parsed;
  if (const auto* message = object.if_contains("message")) {
    if (!message->is_string()) return malformed("`message` must be a text");
    answer.message = first_line(std::string(message->get_string()));
  }
  if (const auto* readings = object.if_contains("observations")) {
    if (!readings->is_array() || readings->get_array().size() > ScriptAnswer::kMaxReadings)
      return malformed("`observations` must be a list of at most " +
                       std::to_string(ScriptAnswer::kMaxReadings));
    for (const auto& reading : readings->get_array())
      answer.readings.push_back(TRY(read_reading(reading)));
  }
  return answer;
}

std::optional<Health> health_of(int exit_code) {
  switch (exit_code) {
    case 0:
      return Health::healthy;
    case 1:
      return Health::degraded;
    case 2:
      return Health::failed;
    case 3:
      return Health::unknown;
    default:
      return std::nullopt;
  }
}

// A script whose output and exit code disagree died halfway, or one of the two is wrong: the worse of
// them counts.
void add_exit_code(const ChildStatus& status, ScriptAnswer& answer) {
  const Health said = answer.health;
  answer.health = worst(said, health_of(status.code).value_or(Health::unknown));
  if (answer.health == said) return;
  const std::string note = "reported " + std::string(to_string(said)) + ", but " + to_string(status);
  answer.message = first_line(answer.message.empty() ? note : note + ": " + answer.message);
}

}  // namespace

Result<ScriptAnswer> read_script_answer(const ChildReport& report) {
  if (report.end == ChildEnd::timed_out || report.end == ChildEnd::cancelled)
    return fail(Errc::timed_out, "the script did not end in time");
  if (report.end == ChildEnd::signalled)
    return fail(Errc::unavailable, "the script ended by " + to_string(report.status));
  if (report.status.code == kNotConfined && report.output.empty())
    return fail(Errc::unavailable, first_line(report.errors));
  const auto begin = report.output.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && report.output[begin] == '{') {
    if (report.dropped_bytes > 0) return malformed("longer than the limit");
    ScriptAnswer answer = TRY(read_json(report.output));
    add_exit_code(report.status, answer);
    return answer;
  }
  const auto health = health_of(report.status.code);
  if (!health)
    return malformed(to_string(report.status) + " is none of 0 to 3; " +
                     first_line(report.errors.empty() ? report.output : report.errors));
  return ScriptAnswer{*health, first_line(report.output), {}};
}

}  // namespace autopilot::host
