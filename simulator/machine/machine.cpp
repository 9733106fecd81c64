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

using boost::json::value;

bool read_text(std::string_view key, const value& text, LogRecord& record) {
  if (!text.is_string()) return false;
  if (key == "text") record.text = std::string(text.get_string());
  if (key == "error") record.error = std::string(text.get_string());
  return key == "text" || key == "error";
}

bool read_flag(std::string_view key, const value& flag, LogRecord& record) {
  if (!flag.is_bool()) return false;
  if (key == "injected") record.injected = flag.get_bool();
  if (key == "verified") record.verified = flag.get_bool();
  return key == "injected" || key == "verified";
}

bool read_count(std::string_view key, const value& number, LogRecord& record) {
  if (!number.is_int64() || number.get_int64() < 0) return false;
  const auto count = static_cast<std::uint64_t>(number.get_int64());
  if (key == "seq") {
    record.sequence = count;
    return true;
  }
  if (key == "prio" && count < 1024) {
    record.priority = static_cast<int>(count);
    return true;
  }
  if (key != "lost" || count == 0) return false;
  record.lost = count;
  return true;
}

bool read_time(std::string_view key, const value& time, LogRecord& record) {
  if (key != "time" || !time.is_number()) return false;
  record.seconds = time.to_number<double>();
  return true;
}

// Fills `record` from one object; returns a problem, or an empty text.
std::string read_record(const boost::json::object& object, LogRecord& record) {
  for (const auto& [key, member] : object)
    if (!read_text(key, member, record) && !read_flag(key, member, record) &&
        !read_count(key, member, record) && !read_time(key, member, record))
      return "unknown key or wrong type: `" + std::string(key) + "`";
  if (!record.error.empty() && object.size() > 1) return "`error` excludes other keys in its record";
  if (record.lost == 0 && record.error.empty() && !object.contains("text")) return "`text` is missing";
  return {};
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
    const value parsed = boost::json::parse(line, error);
    if (error || !parsed.is_object()) return fail(Errc::malformed, place + "not a JSON object");
    LogRecord record;
    const std::string problem = read_record(parsed.get_object(), record);
    if (!problem.empty()) return fail(Errc::malformed, place + problem);
    log.push_back(std::move(record));
  }
  return log;
}

}  // namespace autopilot::simulator
