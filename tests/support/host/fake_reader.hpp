// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "host/process/process_reader.hpp"

namespace autopilot::host {

// For tests: a reader with more permissions that knows the given processes; denied: any other.
class FakeReader final : public ProcessReader {
 public:
  [[nodiscard]] Result<ClosedFacts> facts(std::int64_t pid, std::uint64_t started_ticks) const override {
    return find(known_facts, pid, started_ticks);
  }
  [[nodiscard]] Result<TaskIo> io(std::int64_t pid, std::uint64_t started_ticks) const override {
    return find(known_io, pid, started_ticks);
  }

  using Key = std::pair<std::int64_t, std::uint64_t>;  // pid and start
  std::map<Key, ClosedFacts> known_facts;
  std::map<Key, TaskIo> known_io;

 private:
  template <class Value>
  static Result<Value> find(const std::map<Key, Value>& known, std::int64_t pid,
                            std::uint64_t started_ticks) {
    const auto found = known.find({pid, started_ticks});
    if (found == known.end()) return fail(Errc::denied, "not for this reader");
    return found->second;
  }
};

}  // namespace autopilot::host
