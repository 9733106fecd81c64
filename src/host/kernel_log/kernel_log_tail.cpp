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
        // Numbers of one witness mean nothing to another.
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

// Until the source fails or the tail stops. True when the source was read to its end.
bool KernelLogTail::follow(RecordSource& source) {
  // A source that was opened again begins at its beginning.
  std::optional<std::uint64_t> resume_at;
  {
    const std::lock_guard lock(mutex_);
    if (ring_.next() > 0) resume_at = ring_.next();
  }
  bool at_end = false;
  for (;;) {
    const Duration patience = untold_ == LogParts::none ? Duration{std::chrono::hours(1)} : Duration{kPause};
    auto batch = source.next(at_end ? patience : Duration::zero());
    if (!batch) {
      set_ready(batch.error());
      return at_end;
    }
    if (batch->empty() && !at_end) {
      at_end = true;
      set_ready(std::nullopt);
    }
    // Not under the lock: understanding records takes longer than keeping them, and readers wait for the
    // lock.
    const LogParts news = at_end && options_.news_in ? options_.news_in(*batch) : LogParts::none;
    const bool is_pause = batch->empty();
    take(std::move(*batch), resume_at);
    tell_when_paused(news, is_pause);
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return at_end;
  }
}

void KernelLogTail::tell_when_paused(LogParts news, bool is_pause) {
  const auto now = std::chrono::steady_clock::now();
  if (untold_ == LogParts::none) untold_since_ = now;
  untold_ = untold_ | news;
  if (untold_ == LogParts::none) return;
  // A line of the GPU driver is a record of its own, and nobody should learn of it later than can be.
  const bool is_whole = is_pause || overlap(untold_, LogParts::gpu_driver);
  if (!is_whole && now - untold_since_ < kLongestBurst) return;
  options_.on_news(std::exchange(untold_, LogParts::none));
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
    return fail(Errc::denied, "neither " + device + " nor syslog(2) may be read");
  const bool is_denied = kmsg.error().code == Errc::denied || syslog.error().code == Errc::denied;
  return fail(is_denied ? Errc::denied : kmsg.error().code, kmsg.error().what + "; " + syslog.error().what);
}

}  // namespace autopilot::host
