// SPDX-License-Identifier: Apache-2.0
#include "machine/machine.hpp"

#include <array>
#include <boost/json.hpp>
#include <cstdio>

#include "core/parse.hpp"

namespace autopilot::simulator {
namespace {

constexpr int kMaxLinks = 16;

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i)
    path += '/' + parts[i];
  return path;
}

std::string relative(const std::string& from, const std::string& to) {
  const auto here = parts_of(from);
  const auto there = parts_of(to);
  std::size_t common = 0;
  while (common + 1 < here.size() && common < there.size() && here[common] == there[common])
    ++common;
  std::string path;
  for (std::size_t i = common; i + 1 < here.size(); ++i)
    path += "../";
  for (std::size_t i = common; i < there.size(); ++i)
    path += (i > common ? "/" : "") + there[i];
  return path;
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

}  // namespace

void FileTree::link(const std::string& path, const std::string& target) {
  entries_[path] = {Kind::link, relative(path, target)};
}

void FileTree::remove_below(const std::string& path) {
  std::erase_if(entries_,
                [&](const auto& entry) { return entry.first == path || is_below(entry.first, path); });
}

void FileTree::remove(const std::string& path) {
  const std::string real = resolve(path).value_or(path);
  std::vector<std::string> links;
  for (const auto& entry : entries_) {
    if (entry.second.kind != Kind::link) continue;
    const auto target = resolve(entry.first);
    if (target && (*target == real || is_below(*target, real))) links.push_back(entry.first);
  }
  for (const std::string& link : links)
    entries_.erase(link);
  remove_below(real);
  remove_below(path);
}

const std::string* FileTree::text(std::string_view path) const {
  const auto real = resolve(path);
  if (!real) return nullptr;
  const auto found = entries_.find(*real);
  return found != entries_.end() && found->second.kind == Kind::text ? &found->second.text : nullptr;
}

std::optional<std::string> FileTree::value(std::string_view path) const {
  const std::string* found = text(path);
  if (found == nullptr) return std::nullopt;
  return std::string(trim(*found));
}

std::optional<std::int64_t> FileTree::number(std::string_view path) const {
  const auto word = value(path);
  return word ? parse_number<std::int64_t>(*word) : std::nullopt;
}

bool FileTree::is_directory(std::string_view path) const {
  const auto found = entries_.find(path);
  if (found != entries_.end()) return found->second.kind == Kind::directory;
  const auto below = entries_.upper_bound(std::string(path) + "/");
  return path.empty() || (below != entries_.end() && is_below(below->first, path));
}

std::optional<std::string> FileTree::resolve(std::string_view path) const {
  std::vector<std::string> parts = parts_of(path);
  int links = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string here = join(parts, i + 1);
    const auto found = entries_.find(here);
    if (found == entries_.end() || found->second.kind != Kind::link) continue;
    if (++links > kMaxLinks) return std::nullopt;
    const std::string& target = found->second.text;
    std::string next = target.starts_with('/') ? target : join(parts, i) + '/' + target;
    for (std::size_t rest = i + 1; rest < parts.size(); ++rest)
      next += '/' + parts[rest];
    parts = parts_of(next);
    i = static_cast<std::size_t>(-1);
  }
  const std::string real = join(parts, parts.size());
  if (entries_.contains(real) || is_directory(real)) return real;
  return std::nullopt;
}

std::vector<std::string> FileTree::list(std::string_view directory) const {
  std::vector<std::string> names;
  const auto real = resolve(directory);
  if (!real) return names;
  for (auto entry = entries_.upper_bound(*real + "/");
       entry != entries_.end() && is_below(entry->first, *real); ++entry) {
    const std::string_view rest = std::string_view(entry->first).substr(real->size() + 1);
    const std::string name(rest.substr(0, rest.find('/')));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

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
