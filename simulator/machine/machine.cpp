// SPDX-License-Identifier: Apache-2.0
#include "machine/machine.hpp"

#include <array>
#include <boost/json.hpp>
#include <cstdio>

#include "core/parse.hpp"

namespace autopilot::simulator {
namespace {

std::string record_line(const LogRecord& record, std::uint64_t sequence) {
  if (record.lost > 0) return "{\"lost\":" + std::to_string(record.lost) + "}\n";
  if (!record.error.empty())
    return "{\"error\":" + boost::json::serialize(boost::json::string(record.error)) + "}\n";
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%.6f", record.seconds);
  return "{\"prio\":" + std::to_string(record.priority) + ",\"seq\":" + std::to_string(sequence) +
         ",\"time\":" + time.data() + (record.injected ? ",\"injected\":true" : "") +
         (record.verified ? "" : ",\"verified\":false") +
         ",\"text\":" + boost::json::serialize(boost::json::string(record.text)) + "}\n";
}

// Fills `record` from one object; says what is wrong, or nothing.
std::optional<std::string> read_record(const boost::json::object& object, LogRecord& record) {
  for (const auto& [key, value] : object) {
    if (key == "text" && value.is_string()) {
      record.text = std::string(value.get_string());
    } else if (key == "time" && value.is_number()) {
      record.seconds = value.to_number<double>();
    } else if (key == "prio" && value.is_int64() && value.get_int64() >= 0 && value.get_int64() < 1024) {
      record.priority = static_cast<int>(value.get_int64());
    } else if (key == "seq" && value.is_int64() && value.get_int64() >= 0) {
      record.sequence = static_cast<std::uint64_t>(value.get_int64());
    } else if (key == "injected" && value.is_bool()) {
      record.injected = value.get_bool();
    } else if (key == "verified" && value.is_bool()) {
      record.verified = value.get_bool();
    } else if (key == "error" && value.is_string() && object.size() == 1) {
      record.error = std::string(value.get_string());
    } else if (key == "lost" && value.is_int64() && value.get_int64() > 0) {
      record.lost = static_cast<std::uint64_t>(value.get_int64());
    } else {
      return "unknown key or wrong type: `" + std::string(key) + "`";
    }
  }
  if (record.lost == 0 && record.error.empty() && !object.contains("text")) return "`text` is missing";
  return std::nullopt;
}

}  // namespace

double Machine::uptime_seconds() const {
  const YamlNode* uptime = machine.find("uptime");
  const auto duration = uptime == nullptr ? std::nullopt : parse_duration(uptime->text);
  return duration ? to_seconds(*duration) : 0;
}

std::vector<std::string> Machine::gpus() const {
  std::vector<std::string> addresses;
  const YamlNode* list = nvml ? nvml->find("gpus") : nullptr;
  if (list == nullptr) return addresses;
  for (const YamlMember& member : list->members)
    addresses.push_back(member.key);
  return addresses;
}

YamlNode* Machine::gpu(std::string_view pci_address) {
  if (!nvml) return nullptr;
  for (YamlMember& list : nvml->members) {
    if (list.key != "gpus") continue;
    for (YamlMember& member : list.value.members)
      if (member.key == pci_address) return &member.value;
  }
  return nullptr;
}

std::string log_text(const std::vector<LogRecord>& log) {
  std::string text;
  std::uint64_t next = 0;
  for (const LogRecord& record : log) {
    const std::uint64_t sequence = record.sequence.value_or(next);
    text += record_line(record, sequence);
    next = record.lost > 0 ? next + record.lost : sequence + 1;
  }
  return text;
}

Result<std::vector<LogRecord>> parse_log(std::string_view text, const std::string& file) {
  std::vector<LogRecord> log;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string place = file + ":" + std::to_string(number) + ": ";
    boost::system::error_code error;
    const boost::json::value value = boost::json::parse(line, error);
    if (error || !value.is_object()) return fail(Errc::malformed, place + "not a JSON object");
    LogRecord record;
    if (const auto problem = read_record(value.get_object(), record))
      return fail(Errc::malformed, place + *problem);
    log.push_back(std::move(record));
  }
  return log;
}

}  // namespace autopilot::simulator
