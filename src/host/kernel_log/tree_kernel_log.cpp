// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/tree_kernel_log.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cmath>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "host/files/tree_file.hpp"
#include "host/kernel_log/kmsg_source.hpp"

namespace autopilot::host {
namespace json = boost::json;
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

std::optional<std::uint64_t> whole_number(const json::value& value) {
  if (const auto* number = value.if_int64(); number != nullptr && *number >= 0)
    return static_cast<std::uint64_t>(*number);
  if (const auto* number = value.if_uint64()) return *number;
  return std::nullopt;
}

std::optional<Errc> errc_of_word(std::string_view word) {
  for (const Errc code : {Errc::denied, Errc::timed_out, Errc::unavailable, Errc::not_found, Errc::malformed,
                          Errc::unsupported})
    if (to_string(code) == word) return code;
  return std::nullopt;
}

bool set_member(TreeLogLine& line, std::string_view key, const json::value& value) {
  if (key == "prio") {
    const auto number = whole_number(value);
    if (!number || *number > 0xffff) return false;
    line.priority = static_cast<int>(*number & 7U);
    line.facility = static_cast<int>(*number >> 3U);
    return true;
  }
  if (key == "seq") {
    line.sequence = whole_number(value);
    return line.sequence.has_value();
  }
  if (key == "time") {
    if (!value.is_number()) return false;
    const double seconds = value.to_number<double>();
    if (!(seconds >= 0 && seconds < 1e9)) return false;
    line.microseconds = static_cast<std::uint64_t>(std::llround(seconds * 1e6));
    return true;
  }
  if (key == "text" && value.is_string()) {
    line.text = clean_log_text(value.get_string());
    return true;
  }
  if (key == "injected" && value.is_bool()) {
    line.injected = value.get_bool();
    return true;
  }
  if (key == "verified" && value.is_bool()) {
    line.verified = value.get_bool();
    return true;
  }
  return false;
}

}  // namespace

Result<std::variant<TreeLogLine, TreeLogLoss, TreeLogError>> parse_tree_log_line(std::string_view line) {
  json::error_code error;
  const json::value value = json::parse(line, error);
  if (error || !value.is_object()) return fail(Errc::malformed, "not a JSON object");
  const auto& object = value.get_object();
  if (object.size() == 1 && object.begin()->key() == "lost") {
    const auto records = whole_number(object.begin()->value());
    if (!records) return fail(Errc::malformed, "lost: not a number");
    return TreeLogLoss{*records};
  }
  if (object.size() == 1 && object.begin()->key() == "error") {
    const auto& word = object.begin()->value();
    const auto code = word.is_string() ? errc_of_word(word.get_string()) : std::nullopt;
    if (!code) return fail(Errc::malformed, "error: not a known word");
    return TreeLogError{*code};
  }
  TreeLogLine parsed;
  for (const auto& member : object)
    if (!set_member(parsed, member.key(), member.value()))
      return fail(Errc::malformed, std::string(member.key()) + ": unknown key or wrong type");
  if (!object.contains("text") || !object.contains("time"))
    return fail(Errc::malformed, "text and time are required");
  return parsed;
}

Result<KernelRecords> TreeKernelLog::read_if(std::uint64_t from, MonoTime deadline,
                                             const Wanted& wanted) const {
  const std::lock_guard lock(mutex_);
  TRY_STATUS(follow());
  if (error_) return fail(*error_);
  KernelRecords records = ring_.read(from, wanted, deadline);
  records.witness = "/dev/kmsg";
  return records;
}

RecordLosses TreeKernelLog::losses() const {
  const std::lock_guard lock(mutex_);
  return ring_.losses();
}

Status TreeKernelLog::follow() const {
  auto opened = open_tree_file(path_);
  if (!opened && opened.error().code == Errc::not_found)
    return fail(Errc::unavailable, path_ + ": the machine tree has no kernel log");
  const Fd file = TRY(std::move(opened));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, path_);
  if (status.st_ino != inode_ || static_cast<std::uint64_t>(status.st_size) < offset_) {
    ring_ = RecordRing();
    error_.reset();
    inode_ = status.st_ino;
    offset_ = lines_ = next_sequence_ = lost_ = 0;
  }
  if (static_cast<std::uint64_t>(status.st_size) == offset_) return {};
  std::string chunk(kChunk, '\0');
  for (;;) {
    const ssize_t size = ::pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset_));
    if (size < 0) return fail_errno(errno, path_);
    std::string_view text(chunk.data(), static_cast<std::size_t>(size));
    const std::size_t before = text.size();
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      TRY_STATUS(take(text.substr(0, end)));
      text.remove_prefix(end + 1);
    }
    offset_ += before - text.size();
    if (text.size() > kMaxLine)
      return fail(Errc::malformed, path_ + ":" + std::to_string(lines_ + 1) + ": line too long");
    if (before == text.size() || before < chunk.size()) return {};  // the rest is being written
  }
}

Status TreeKernelLog::take(std::string_view line) const {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    ++lines_;
    return {};
  }
  auto parsed = parse_tree_log_line(line.substr(0, kMaxLine));
  if (!parsed)
    return fail(Errc::malformed, path_ + ":" + std::to_string(lines_ + 1) + ": " + parsed.error().what);
  ++lines_;
  if (const auto* loss = std::get_if<TreeLogLoss>(&*parsed)) {
    lost_ += loss->records;
    return {};
  }
  if (const auto* stop = std::get_if<TreeLogError>(&*parsed)) {
    error_ = Error{stop->code, path_ + ": " + std::string(to_string(stop->code))};
    return {};
  }
  auto& record = std::get<TreeLogLine>(*parsed);
  const std::uint64_t sequence = std::max(record.sequence.value_or(next_sequence_ + lost_), next_sequence_);
  const std::uint64_t gap = ring_.size() == 0 ? 0 : sequence - next_sequence_;
  ring_.add({.sequence = sequence,
             .time = instant_since_boot(record.microseconds, clock_.now()),
             .priority = record.priority,
             .facility = record.facility,
             .verified = record.verified,
             .injected = record.injected,
             .text = std::move(record.text)},
            std::max(gap, lost_));
  next_sequence_ = sequence + 1;
  lost_ = 0;
  return {};
}

}  // namespace autopilot::host
