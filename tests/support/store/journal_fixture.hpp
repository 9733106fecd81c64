// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
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

// A generator for one test, equal in every run; change it with --gtest_random_seed=N.
inline std::mt19937 random_numbers(unsigned test) {
  return std::mt19937(test + static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
}

}  // namespace autopilot::store::testing
