// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "store/journal.hpp"

namespace autopilot::store::testing {

inline constexpr WallTime kNow{std::chrono::hours{24 * 365 * 56}};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline Event event(const std::string& message, WallTime time = kNow) {
  Event event;
  event.time = time;
  event.boot_id = "boot";
  event.kind = EventKind::finding_raised;
  event.check = "gpu.xid";
  event.message = message;
  return event;
}

inline Batch batch_of(Event event) {
  Batch batch;
  batch.events.push_back(std::move(event));
  return batch;
}

}  // namespace autopilot::store::testing
