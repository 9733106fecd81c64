// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "host/kernel_log/kernel_log_tail.hpp"

namespace autopilot::checks {

// A kernel log that a test writes.
class TestLog final : public host::KernelLog {
 public:
  // `change` sets what is not as usual: facility, verified, injected.
  void write(Instant when, std::string text) {
    write(when, std::move(text), [](host::KernelRecord&) {});
  }
  template <class Change>
  void write(Instant when, std::string text, Change change) {
    host::KernelRecord record;
    record.sequence = next_++;
    record.time = when;
    record.text = std::move(text);
    change(record);
    ring_.add(std::move(record), 0);
  }
  void refuse() { is_refused_ = true; }

  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t from, MonoTime) const override {
    if (is_refused_) return fail(Errc::denied, "/dev/kmsg: Operation not permitted");
    host::KernelRecords records = ring_.read(from);
    records.witness = "/dev/kmsg";
    return records;
  }

 private:
  mutable host::RecordRing ring_;
  std::uint64_t next_ = 1;
  bool is_refused_ = false;
};

}  // namespace autopilot::checks
