// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/syslog_source.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/klog.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::host {
namespace {

constexpr int kReadAll = 3;      // SYSLOG_ACTION_READ_ALL
constexpr int kSizeBuffer = 10;  // SYSLOG_ACTION_SIZE_BUFFER
// The largest ring of a kernel build is 2^25 bytes; a boot parameter can exceed it, which is not supported.
constexpr int kMaxRingBytes = 32 << 20;
constexpr auto kPeriod = std::chrono::seconds(1);
// This many consecutive equal rows are not a coincidence.
constexpr std::size_t kRowsToMatch = 4;

constexpr std::uint64_t kSyslogBit = std::uint64_t{1} << 62;
constexpr unsigned kHashBits = 12;
constexpr std::uint64_t kMaxSequenceMicroseconds = (std::uint64_t{1} << (62 - kHashBits)) - 1;

Result<std::string> read_ring() {
  const int size = ::klogctl(kSizeBuffer, nullptr, 0);
  if (size < 0) {
    if (errno == EPERM) return fail(Errc::denied, "syslog(2): needs CAP_SYSLOG");
    return fail_errno(errno, "syslog(2)");
  }
  // Rows have a prefix that is not in the ring.
  std::string text(static_cast<std::size_t>(std::min(size, kMaxRingBytes)) * 2, '\0');
  const int length = ::klogctl(kReadAll, text.data(), static_cast<int>(text.size()));
  if (length < 0) {
    if (errno == EPERM) return fail(Errc::denied, "syslog(2): needs CAP_SYSLOG");
    return fail_errno(errno, "syslog(2)");
  }
  text.resize(static_cast<std::size_t>(length));
  return text;
}

// Index of the first new row; empty if the old rows have been overwritten.
std::optional<std::size_t> find_new(const std::vector<std::string_view>& rows,
                                    const std::vector<std::string>& last) {
  for (std::size_t end = rows.size(); end >= last.size(); --end)
    if (std::equal(last.begin(), last.end(), rows.begin() + static_cast<std::ptrdiff_t>(end - last.size())))
      return end;
  return std::nullopt;
}

}  // namespace

std::optional<SyslogRow> parse_syslog_row(std::string_view row) {
  if (!row.starts_with('<')) return std::nullopt;
  const auto close = row.substr(0, 8).find('>');
  if (close == std::string_view::npos) return std::nullopt;
  const auto priority = parse_number<unsigned>(row.substr(1, close - 1));
  if (!priority || *priority > 0xffff) return std::nullopt;
  row.remove_prefix(close + 1);
  if (!row.starts_with('[')) return std::nullopt;
  const auto bracket = row.substr(0, 40).find(']');
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::string_view time = trim(row.substr(1, bracket - 1));
  const auto dot = time.find('.');
  if (dot == std::string_view::npos || time.size() - dot != 7) return std::nullopt;
  const auto seconds = parse_number<std::uint64_t>(time.substr(0, dot));
  const auto fraction = parse_number<std::uint64_t>(time.substr(dot + 1));
  if (!seconds || !fraction || *seconds > kMaxSequenceMicroseconds / 1'000'000 - 1) return std::nullopt;
  row.remove_prefix(bracket + 1);
  if (row.starts_with('[')) {  // the caller, if the kernel is built to print it
    const auto end = row.substr(0, 40).find(']');
    if (end != std::string_view::npos) row.remove_prefix(end + 1);
  }
  if (row.starts_with(' ')) row.remove_prefix(1);
  return SyslogRow{.priority = static_cast<int>(*priority & 7U),
                   .facility = static_cast<int>(*priority >> 3U),
                   .microseconds = *seconds * 1'000'000 + *fraction,
                   .text = row};
}

std::uint64_t syslog_sequence(const SyslogRow& row) {
  return kSyslogBit | row.microseconds << kHashBits |
         (stable_hash(row.text).value() & ((std::uint64_t{1} << kHashBits) - 1));
}

Result<std::unique_ptr<SyslogSource>> SyslogSource::open(const Clock& clock) {
  return with_read(read_ring, clock);
}

Result<std::unique_ptr<SyslogSource>> SyslogSource::with_read(ReadAll read_all, const Clock& clock) {
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return fail_errno(errno, "eventfd");
  std::unique_ptr<SyslogSource> source(new SyslogSource(wake, std::move(read_all), clock));
  TRY_STATUS(source->read_new_rows());
  return source;
}

SyslogSource::SyslogSource(int wake, ReadAll read_all, const Clock& clock)
    : wake_(wake), read_all_(std::move(read_all)), clock_(clock) {}

SyslogSource::~SyslogSource() {
  ::close(wake_);
}

void SyslogSource::interrupt() {
  ::eventfd_write(wake_, 1);
}

Result<std::vector<SourcedRecord>> SyslogSource::next(Duration patience) {
  if (!pending_.empty() || patience <= Duration::zero()) return deliver();
  const auto pause = std::min<Duration>(patience, kPeriod);
  pollfd wait{wake_, POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(pause).count())) != 0)
    return std::vector<SourcedRecord>{};
  TRY_STATUS(read_new_rows());
  return deliver();
}

Status SyslogSource::read_new_rows() {
  const std::string ring = TRY(read_all_());
  std::vector<std::string_view> rows = split(ring, '\n');
  while (!rows.empty() && rows.back().empty())
    rows.pop_back();
  std::erase_if(rows, [](std::string_view row) { return !parse_syslog_row(row); });
  if (rows.empty() && !trim(ring).empty())
    return fail(Errc::unsupported, "syslog(2): rows have no time (printk.time is off)");
  take(rows);
  return {};
}

void SyslogSource::take(const std::vector<std::string_view>& rows) {
  if (rows.empty()) return;
  const auto begin = find_new(rows, last_rows_);
  std::uint64_t lost = has_read_ && !begin ? 1 : 0;
  const Instant now = clock_.now();
  RowJoiner joiner;
  const auto add = [&](std::optional<KernelRecord> record) {
    if (!record) return;
    pending_.push_back({std::move(*record), std::exchange(lost, 0)});
  };
  for (std::size_t index = has_read_ ? begin.value_or(0) : 0; index < rows.size(); ++index) {
    const auto row = parse_syslog_row(rows[index]);
    if (!row) continue;
    KernelRecord record;
    record.sequence = syslog_sequence(*row);
    record.time = instant_since_boot(row->microseconds, now);
    record.priority = row->priority;
    record.facility = row->facility;
    std::string_view text = row->text;
    if (record.facility != 0 && text.starts_with(kInjectedPrefix)) {
      record.injected = true;
      text.remove_prefix(kInjectedPrefix.size());
    }
    record.text = clean_log_text(text);
    for (auto& finished : joiner.add(std::move(record)))
      add(std::move(finished));
  }
  add(joiner.finish());
  const std::size_t kept = std::min(rows.size(), kRowsToMatch);
  last_rows_.assign(rows.end() - static_cast<std::ptrdiff_t>(kept), rows.end());
  has_read_ = true;
}

std::vector<SourcedRecord> SyslogSource::deliver() {
  const std::size_t count = std::min(pending_.size(), kMaxBatch);
  const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<SourcedRecord> batch(std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
  pending_.erase(pending_.begin(), end);
  return batch;
}

}  // namespace autopilot::host
