// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "learning/records.hpp"

// Records of history: one of each type with every member, and random ones.
namespace autopilot::learning::testing {

inline constexpr WallTime kBegin{std::chrono::seconds{1'764'000'000}};

inline NodeJob node_job(const std::string& id = "j1/gpu-017", WallTime start = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", ""},
          .job = "j1",
          .name = "ml/train",
          .gpus = {"S1", "S2"},
          .job_gpus = 64,
          .start = start,
          .end = start + std::chrono::hours{5},
          .outcome = JobOutcome::failed,
          .failure = "hardware"};
}

inline Validation validation(const std::string& id = "v1", WallTime start = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", ""},
          .start = start,
          .end = start + std::chrono::seconds{30},
          .reason = Reason::job_end,
          .depth = Depth::quick,
          .verdict = Verdict::failed,
          .job = "j1",
          .cause = "the job failed",
          .checks = {{"gpu.xid", "S1", Health::failed, "xid_79", "GPU 3 has fallen off the bus."},
                     {"host.clock", "", Health::healthy, "", ""}}};
}

inline Measurement measurement(const std::string& id = "m1", WallTime time = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", "S1"},
          .time = time,
          .kind = "h200-sxm",
          .check = "gpu.hbm_bandwidth",
          .metric = "bandwidth_gb_s",
          .values = {4100.25, 0.1, -3e-9}};
}

inline Fault fault(const std::string& id = "f1", WallTime begin = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", "S1"},
          .begin = begin,
          .detected = begin + std::chrono::nanoseconds{1},
          .end = begin + std::chrono::hours{2},
          .kind = FaultClass::hardware,
          .check = "gpu.xid",
          .cause = "gpu_off_bus",
          .text = "GPU 3 (0000:61:00.0) has fallen off the bus: \"Xid 79\"\n\xc3\xa9",
          .health = Health::failed,
          .confidence = 0.9,
          .job = "j1",
          .versions = "thresholds 3",
          .action = Action::reset_gpu};
}

inline Label label(const std::string& id = "l1", WallTime time = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", "S1"},
          .time = time,
          .fault = "f1",
          .answer = LabelAnswer::faulty,
          .source = LabelSource::rma,
          .cause = "HBM stack",
          .author = "vendor",
          .note = "replaced under RMA 4711"};
}

inline Repair repair(const std::string& id = "r1", WallTime begin = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", "S1"},
          .begin = begin,
          .end = begin + std::chrono::hours{48},
          .action = "replace",
          .part = "GPU",
          .ticket = "OPS-4711",
          .note = "slot 3"};
}

inline Versions versions(const std::string& id = "w1", WallTime time = kBegin) {
  return {.id = id,
          .place = {"prod", "gpu-017", ""},
          .time = time,
          .driver = "570.86.15",
          .firmware = "96.00.74.00.01",
          .kernel = "6.8.0-51",
          .image = "autopilot:1.4",
          .agent = "1.4.0"};
}

inline std::vector<HistoryRecord> one_of_each() {
  return {node_job(), validation(), measurement(), fault(), label(), repair(), versions()};
}

// Within the limits of learning::check, with few places and times, so that queries find several.
inline HistoryRecord random_record(std::mt19937& random, int id) {
  const auto below = [&random](unsigned n) { return static_cast<int>(random() % n); };
  const WallTime begin = kBegin + std::chrono::minutes{below(10'000)};
  const std::string name = "x" + std::to_string(id);
  HistoryRecord record = one_of_each().at(static_cast<std::size_t>(below(7)));
  std::visit(
      [&](auto& r) {
        r.id = name;
        r.place.node = "gpu-" + std::to_string(below(4));
        if constexpr (requires { r.start; }) {
          r.start = begin;
          r.end = begin + std::chrono::nanoseconds{below(1'000'000'000)};
        } else if constexpr (requires { r.begin; }) {
          r.begin = begin;
          r.end.reset();
          if (below(2) == 0) r.end = begin + std::chrono::seconds{below(100'000)};
        } else {
          r.time = begin + std::chrono::nanoseconds{below(1'000'000'000)};
        }
      },
      record);
  if (auto* of = std::get_if<Fault>(&record)) {
    of->kind = static_cast<FaultClass>(below(5));
    of->detected.reset();
    of->confidence = below(1000) / 999.0;
    if (below(2) == 0) of->place.gpu = "S" + std::to_string(below(3));
    if (below(2) == 0) of->action.reset();
  }
  if (auto* of = std::get_if<Validation>(&record)) of->verdict = static_cast<Verdict>(below(3));
  return record;
}

}  // namespace autopilot::learning::testing
