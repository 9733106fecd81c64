// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kernel_log_tail.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/syslog_source.hpp"

namespace autopilot::host {
namespace {

constexpr std::chrono::milliseconds kPause{2};
constexpr std::chrono::milliseconds kLongestBurst{8};

}  // namespace

KernelLogTail::KernelLogTail(Open open) : KernelLogTail(std::move(open), Options{}) {}

KernelLogTail::KernelLogTail(Open open, Options options)
    : open_(std::move(open)),
      options_(std::move(options)),
      ring_(options_.limits, options_.part_of),
      thread_([this] { run(); }) {}

KernelLogTail::~KernelLogTail() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (source_ != nullptr) source_->interrupt();
  }
  changed_.notify_all();
  thread_.join();
}

Result<KernelRecords> KernelLogTail::read_if(std::uint64_t from, MonoTime deadline,
                                             const Wanted& wanted) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [this] { return is_ready_; }))
    return fail(Errc::timed_out, "kernel log: not read to its end yet");
  if (error_) return fail(*error_);
  KernelRecords records = ring_.read(from, wanted, deadline);
  show_losses();
  records.witness = witness_;
  return records;
}

void KernelLogTail::run() {
  Duration retry = options_.first_retry;
  for (;;) {
    auto source = open_();
    if (source) {
      {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
        source_ = source->get();
        // Sequences of one data source have no meaning in another.
        if (const auto witness = source_->witness(); witness != witness_) {
          losses_in_other_rings_ = losses_in_other_rings_ + ring_.losses();
          ring_ = RecordRing(options_.limits, options_.part_of);
          witness_ = witness;
        }
      }
      if (follow(**source)) retry = options_.first_retry;
      const std::lock_guard lock(mutex_);
      source_ = nullptr;
    } else {
      set_ready(source.error());
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, retry, [this] { return is_stopping_; })) return;
    retry = std::min(retry * 2, options_.longest_retry);
  }
}

// Reads until the source fails or the tail stops. Returns true if the source was read to its end.
bool KernelLogTail::follow(RecordSource& source) {
  // A source that was opened again starts at its beginning.
  std::optional<std::uint64_t> resume_at;
  {
    const std::lock_guard lock(mutex_);
    if (ring_.next() > 0) resume_at = ring_.next();
  }
  bool at_end = false;
  for (;;) {
    const Duration patience =
        pending_news_ == LogParts::none ? Duration{std::chrono::hours(1)} : Duration{kPause};
    auto batch = source.next(at_end ? patience : Duration::zero());
    if (!batch) {
      set_ready(batch.error());
      return at_end;
    }
    if (batch->empty() && !at_end) {
      at_end = true;
      set_ready(std::nullopt);
    }
    // Without the lock: decoding takes longer than storing, and readers wait for the lock.
    const LogParts news = at_end && options_.news_in ? options_.news_in(*batch) : LogParts::none;
    const bool is_pause = batch->empty();
    take(std::move(*batch), resume_at);
    report_when_paused(news, is_pause);
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return at_end;
  }
}

void KernelLogTail::report_when_paused(LogParts news, bool is_pause) {
  const auto now = std::chrono::steady_clock::now();
  if (pending_news_ == LogParts::none) pending_since_ = now;
  pending_news_ = pending_news_ | news;
  if (pending_news_ == LogParts::none) return;
  // A line of the GPU driver is one record, so it is reported without delay.
  const bool is_whole = is_pause || overlap(pending_news_, LogParts::gpu_driver);
  if (!is_whole && now - pending_since_ < kLongestBurst) return;
  options_.on_news(std::exchange(pending_news_, LogParts::none));
}

void KernelLogTail::take(std::vector<SourcedRecord>&& batch, std::optional<std::uint64_t>& resume_at) {
  const std::lock_guard lock(mutex_);
  for (auto& [record, lost_before] : batch) {
    std::uint64_t lost = lost_before;
    if (resume_at) {
      if (record.sequence < *resume_at) continue;
      lost = std::min(lost, record.sequence - *resume_at);
      resume_at.reset();
    }
    if (!options_.trusts_injected) record.injected = false;
    ++read_;
    ring_.add(std::move(record), lost);
  }
  show_losses();
}

void KernelLogTail::show_losses() const {
  const RecordLosses losses = losses_in_other_rings_ + ring_.losses();
  lost_ = losses.lost;
  missed_ = losses.missed;
}

void KernelLogTail::set_ready(std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    is_ready_ = true;
  }
  changed_.notify_all();
}

Result<std::unique_ptr<RecordSource>> open_kernel_log(const Clock& clock, const std::string& device) {
  auto kmsg = KmsgSource::open(device, clock);
  if (kmsg) return std::unique_ptr<RecordSource>(std::move(*kmsg));
  auto syslog = SyslogSource::open(clock);
  if (syslog) return std::unique_ptr<RecordSource>(std::move(*syslog));
  if (kmsg.error().code == Errc::denied && syslog.error().code == Errc::denied)
    return fail(Errc::denied, "no permission to read " + device + " or syslog(2)");
  const bool is_denied = kmsg.error().code == Errc::denied || syslog.error().code == Errc::denied;
  return fail(is_denied ? Errc::denied : kmsg.error().code, kmsg.error().what + "; " + syslog.error().what);
}

namespace {

// Memory of one record, estimated closely enough for the limit.
std::size_t cost(const KernelRecord& record) {
  constexpr std::size_t kBookkeeping = 64;
  return sizeof(KernelRecord) + kBookkeeping + record.text.capacity();
}

// Uses the text up to the first comma: GPU and code of an Xid. Most other lines name their device near the
// beginning.
std::size_t kind_of(const KernelRecord& record) {
  constexpr std::size_t kBeginning = 48;
  const std::string_view text(record.text);
  const std::size_t hash =
      std::hash<std::string_view>{}(text.substr(0, std::min(text.find(','), kBeginning)));
  return hash * 4 + (record.from_kernel() ? 2U : 0U) + (record.injected ? 1U : 0U);
}

}  // namespace

void RecordRing::add(KernelRecord record, std::uint64_t lost_before) {
  if (is_begun_) {
    record.sequence = std::max(record.sequence, next_);
    if (lost_before > 0) lost_end_ = record.sequence;
    note_lost(lost_before);
  }
  is_begun_ = true;
  next_ = record.sequence + 1;
  const std::size_t kind = kind_of(record);
  const auto known = kinds_.find(kind);
  const bool is_rare = known == kinds_.end() || known->second < kKeptOfKind;
  if (is_rare) ++kinds_[kind];
  Half& half = is_rare ? rare_ : repeats_;
  half.bytes += cost(record);
  const LogParts part = part_of_ ? part_of_(record) : LogParts::all;
  half.entries.push_back({std::move(record), part, kind});
  while (size() > 1 && (bytes() > limits_.bytes || size() > limits_.records))
    drop_one();
}

// Drops from the half that uses more than its share.
void RecordRing::drop_one() {
  const bool are_repeats = rare_.entries.empty() || 2 * repeats_.bytes > limits_.bytes ||
                           2 * repeats_.entries.size() > limits_.records;
  if (!are_repeats)
    if (const auto kind = kinds_.find(rare_.entries.front().kind); --kind->second == 0) kinds_.erase(kind);
  drop_oldest(are_repeats ? repeats_ : rare_);
}

void RecordRing::drop_oldest(Half& half) {
  note_dropped(half.entries.front());
  half.bytes -= cost(half.entries.front().record);
  half.entries.pop_front();
}

void RecordRing::drop_delivered_repeats() {
  const auto is_delivered = [this](const Entry& entry) {
    return std::ranges::all_of(readers_, [&entry](const auto& one) {
      return entry.record.sequence < one.second.has || !overlap(entry.part, one.second.parts);
    });
  };
  while (!repeats_.entries.empty() && is_delivered(repeats_.entries.front()))
    drop_oldest(repeats_);
}

// Counts for all readers: the parts of lost records are unknown.
void RecordRing::note_lost(std::uint64_t count) {
  if (count == 0) return;
  losses_.lost += count;
  for (auto& [name, reader] : readers_)
    reader.missed += count;
}

void RecordRing::note_dropped(const Entry& entry) {
  bool is_missed = false;
  for (auto& [name, reader] : readers_) {
    if (entry.record.sequence < reader.next || !overlap(entry.part, reader.parts)) continue;
    ++reader.missed;
    is_missed = true;
  }
  dropped_[entry.part].add(entry.record.sequence);
  if (readers_.empty()) unclaimed_[entry.part].dropped.add(entry.record.sequence);
  if (is_missed) ++losses_.missed;
}

void RecordRing::Dropped::add(std::uint64_t sequence) {
  ++count;
  last = std::max(last, sequence);
}

std::uint64_t RecordRing::Dropped::since(std::uint64_t from) const {
  return count == 0 || last < from ? 0 : std::min(count, last - from + 1);
}

std::uint64_t RecordRing::missed_since(std::uint64_t from, LogParts parts) const {
  std::uint64_t sum = from < lost_end_ ? losses_.lost : 0;
  for (const auto& [part, dropped] : dropped_)
    if (overlap(part, parts)) sum += dropped.since(from);
  return sum;
}

void RecordRing::claim(std::uint64_t from, LogParts parts) {
  for (auto& [part, unclaimed] : unclaimed_) {
    if (!overlap(part, parts)) continue;
    const std::uint64_t missed = unclaimed.dropped.since(from);
    if (missed <= unclaimed.counted) continue;
    losses_.missed += missed - std::exchange(unclaimed.counted, missed);
  }
}

RecordRing::Reader& RecordRing::reader_of(const KernelLog::Wanted& wanted, std::uint64_t from, MonoTime now) {
  std::erase_if(readers_, [now](const auto& one) { return one.second.seen + kReaderIsGone < now; });
  const auto [found, is_new] = readers_.try_emplace(std::string(wanted.reader));
  Reader& reader = found->second;
  reader.parts = wanted.parts;
  reader.seen = now;
  if (is_new) {
    reader.missed = missed_since(from, wanted.parts);
    claim(from, wanted.parts);
  }
  return reader;
}

KernelRecords RecordRing::read(std::uint64_t from, const KernelLog::Wanted& wanted, MonoTime now) {
  KernelRecords result;
  if (from > next_) from = 0;
  Reader& reader = reader_of(wanted, from, now);
  result.lost = std::exchange(reader.missed, 0);
  result.next = reader.next = next_;
  reader.has = from;
  const auto first_of = [from](const Half& half) {
    return std::ranges::lower_bound(half.entries, from, {},
                                    [](const Entry& entry) { return entry.record.sequence; });
  };
  auto rare = first_of(rare_);
  auto repeat = first_of(repeats_);
  while (rare != rare_.entries.end() || repeat != repeats_.entries.end()) {
    const bool is_rare = repeat == repeats_.entries.end() ||
                         (rare != rare_.entries.end() && rare->record.sequence < repeat->record.sequence);
    const Entry& entry = is_rare ? *rare++ : *repeat++;
    if (overlap(entry.part, wanted.parts) && (!wanted.holds || wanted.holds(entry.record)))
      result.records.push_back(entry.record);
  }
  drop_delivered_repeats();
  return result;
}

}  // namespace autopilot::host
