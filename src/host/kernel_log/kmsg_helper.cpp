// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_helper.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <limits>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

// JSON makes a text at most six times as long; half a frame is reserved for one text and its members.
constexpr std::size_t kMaxAnswer = kMaxFrame / 2;
static_assert(KernelRecord::kMaxText * 6 + 1024 < kMaxFrame - kMaxAnswer);
constexpr std::int64_t kMaxPatienceMs = 3'600'000;
constexpr std::int64_t kMaxFacility = 0xffff >> 3;
constexpr std::size_t kMaxWitness = 64;
constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max() - 1;
// Real counts are far below; sums of wrong counts do not overflow.
constexpr std::int64_t kMaxLost = std::int64_t{1} << 48;

Error malformed(const std::string& what) {
  return {.code = Errc::malformed, .what = "kmsg helper: " + what};
}

Result<json::object> parse_object(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return fail(malformed("not a JSON object"));
  return std::move(value.get_object());
}

Result<std::int64_t> number(const json::object& object, std::string_view key, std::int64_t low,
                            std::int64_t high) {
  const json::value* const member = object.if_contains(key);
  if (member == nullptr || !member->is_int64() || member->get_int64() < low || member->get_int64() > high)
    return fail(malformed("missing or invalid member " + std::string(key)));
  return member->get_int64();
}

void add_member(std::string& text, std::string_view key, std::int64_t number) {
  text += '"';
  text += key;
  text += "\":";
  text += std::to_string(number);
  text += ',';
}

void add_record(std::string& text, const SourcedRecord& sourced) {
  const KernelRecord& record = sourced.record;
  text += '{';
  add_member(text, "sequence", static_cast<std::int64_t>(record.sequence));
  add_member(text, "wall", record.time.wall.time_since_epoch().count());
  add_member(text, "mono", record.time.mono.time_since_epoch().count());
  add_member(text, "priority", record.priority);
  add_member(text, "facility", record.facility);
  add_member(text, "injected", record.injected ? 1 : 0);
  add_member(text, "lost", static_cast<std::int64_t>(std::min<std::uint64_t>(sourced.lost_before, kMaxLost)));
  text += "\"text\":";
  text += json::serialize(json::string(record.text));
  text += '}';
}

Result<SourcedRecord> parse_record(const json::value& value) {
  const json::object* const object = value.if_object();
  if (object == nullptr) return fail(malformed("a record is not an object"));
  SourcedRecord sourced;
  KernelRecord& record = sourced.record;
  constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::min();
  record.sequence = static_cast<std::uint64_t>(TRY(number(*object, "sequence", 0, kMaxNumber)));
  record.time.wall = WallTime(Duration(TRY(number(*object, "wall", kAnyTime, kMaxNumber))));
  record.time.mono = MonoTime(Duration(TRY(number(*object, "mono", kAnyTime, kMaxNumber))));
  record.priority = static_cast<int>(TRY(number(*object, "priority", 0, 7)));
  record.facility = static_cast<int>(TRY(number(*object, "facility", 0, kMaxFacility)));
  record.injected = TRY(number(*object, "injected", 0, 1)) != 0;
  sourced.lost_before = static_cast<std::uint64_t>(TRY(number(*object, "lost", 0, kMaxLost)));
  const json::value* const text = object->if_contains("text");
  if (text == nullptr || !text->is_string() || text->get_string().size() > KernelRecord::kMaxText)
    return fail(malformed("a record has no text, or its text is too long"));
  record.text = std::string(text->get_string());
  return sourced;
}

}  // namespace

std::string encode_witness(std::string_view witness) {
  return json::serialize(json::object{{"witness", witness}});
}

Result<std::string> parse_witness(std::string_view answer) {
  const json::object object = TRY(parse_object(answer));
  const json::value* const witness = object.if_contains("witness");
  if (witness == nullptr || !witness->is_string())
    return fail(malformed("missing or invalid name of the log"));
  const std::string text(witness->get_string());
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  if (text.empty() || text.size() > kMaxWitness || !std::ranges::all_of(text, is_plain))
    return fail(malformed("missing or invalid name of the log"));
  return text;
}

std::string encode_patience(std::chrono::milliseconds patience) {
  return "{\"patienceMs\":" + std::to_string(patience.count()) + "}";
}

Result<std::chrono::milliseconds> parse_patience(std::string_view params) {
  const json::object object = TRY(parse_object(params));
  return std::chrono::milliseconds(TRY(number(object, "patienceMs", 0, kMaxPatienceMs)));
}

std::string encode_records(const std::vector<SourcedRecord>& records, std::size_t& begin) {
  std::string text = "{\"records\":[";
  for (bool is_first = true; begin < records.size() && text.size() < kMaxAnswer; ++begin) {
    if (!std::exchange(is_first, false)) text += ',';
    add_record(text, records[begin]);
  }
  return text + "]}";
}

Result<std::vector<SourcedRecord>> parse_records(std::string_view answer) {
  const json::object object = TRY(parse_object(answer));
  const json::value* const list = object.if_contains("records");
  if (list == nullptr || !list->is_array() || list->get_array().size() > RecordSource::kMaxBatch)
    return fail(malformed("missing records, or too many"));
  std::vector<SourcedRecord> records;
  records.reserve(list->get_array().size());
  for (const json::value& value : list->get_array())
    records.push_back(TRY(parse_record(value)));
  return records;
}

namespace {

constexpr int kExitUsage = 64;

// The log and one agent's position in it.
class ReadLog {
 public:
  explicit ReadLog(const OpenRecordSource& open) : open_(open) {}

  Result<std::string> open() {
    source_ = TRY(open_());
    waiting_.clear();
    taken_ = 0;
    return encode_witness(source_->witness());
  }

  Result<std::string> next(std::string_view params) {
    const auto patience = TRY(parse_patience(params));
    if (!source_) return fail(Errc::malformed, "kmsg helper: the log is not open");
    const MonoTime until = mono_now() + patience;
    while (taken_ == waiting_.size()) {
      const Duration left = std::max<Duration>(until - mono_now(), Duration::zero());
      waiting_ = TRY(source_->next(left));
      taken_ = 0;
      if (left == Duration::zero()) break;
    }
    return encode_records(waiting_, taken_);
  }

 private:
  const OpenRecordSource& open_;
  std::unique_ptr<RecordSource> source_;
  std::vector<SourcedRecord> waiting_;  // read from the source; sent up to taken_
  std::size_t taken_ = 0;
};

}  // namespace

int run_kmsg_helper(int fd, const OpenRecordSource& open) {
  ReadLog log(open);
  return serve(fd, {{std::string(kOpenKernelLog), [&log](std::string_view, MonoTime) { return log.open(); }},
                    {std::string(kNextRecords),
                     [&log](std::string_view params, MonoTime) { return log.next(params); }}});
}

int run_kmsg_helper_verb(const std::vector<std::string>& arguments) {
  auto listening = parse_listening("autopilot helper kmsg", arguments);
  if (!listening) {
    std::cerr << "autopilot helper kmsg: expected --listen /PATH [--allow-uid UID]..., "
                 "at most 16 users\n";
    return kExitUsage;
  }
  listening->capabilities = kReadKernelLog;
  const SystemClock clock;
  return listen_for_agents(*listening, [&clock](int fd) {
    return run_kmsg_helper(fd, [&clock] { return open_kernel_log(clock); });
  });
}

Result<std::unique_ptr<HelperSource>> HelperSource::open(const std::string& socket_path, Limits limits) {
  Fd socket = TRY(connect_to_helper(socket_path));
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "eventfd");
  std::unique_ptr<HelperSource> source(
      new HelperSource(socket_path, std::move(socket), std::move(wake), limits));
  TRY_STATUS(source->start());
  return source;
}

HelperSource::HelperSource(const std::string& socket_path, Fd socket, Fd wake, Limits limits)
    : wake_(std::move(wake)),
      stream_("kmsg helper at " + socket_path, std::move(socket), wake_.get()),
      limits_(limits) {}

Status HelperSource::start() {
  auto answer = stream_.exchange(kOpenKernelLog, "null", mono_now() + limits_.answer);
  if (!answer) return fail(std::move(answer).error().error);
  witness_ = TRY(parse_witness(*answer));
  return {};
}

Result<std::vector<SourcedRecord>> HelperSource::next(Duration patience) {
  if (is_interrupted()) return std::vector<SourcedRecord>{};
  const auto asked = std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp<Duration>(patience, Duration::zero(), limits_.patience));
  auto answer = stream_.exchange(kNextRecords, encode_patience(asked), mono_now() + asked + limits_.answer);
  if (!answer) {
    if (is_interrupted()) return std::vector<SourcedRecord>{};
    return fail(std::move(answer).error().error);
  }
  return parse_records(*answer);
}

void HelperSource::interrupt() {
  ::eventfd_write(wake_.get(), 1);
}

// The event is never reset.
bool HelperSource::is_interrupted() const {
  return poll_until(wake_.get(), POLLIN, MonoTime{});
}

}  // namespace autopilot::host
