// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// Bytes, of which series count so many as one.
inline constexpr double kGiga = 1e9;

// What was measured again and again, in the order of time.
struct Series {
  std::string name;
  std::string unit;  // "GB/s" (10^9 bytes), "TFLOP/s"
  std::vector<double> samples;
  std::string peer = {};  // the UUID of the other GPU, of a copy between two
};

// A result that differs from the only right one.
struct Wrong {
  std::string where;        // "multiprocessor 3", "word at byte 4096 of 1048576"
  std::uint64_t count = 0;  // of what was compared there
  std::string detail;       // "bits 0x4"
};

// Another GPU that a test left out, or did not come to an end with.
struct NotLooked {
  std::string peer;  // its UUID
  std::string why;
  bool has_failed = false;  // a call of the test: it may be either of the two
};

// What one test found on one GPU.
struct Measurement {
  std::vector<Series> series;
  std::vector<Wrong> wrong;
  // Results that one kernel of ours got wrong and another one right on this GPU: no fault of the GPU's is
  // known by them.
  std::vector<Wrong> disputed;
  std::vector<NotLooked> not_looked;
  std::vector<std::pair<std::string, std::int64_t>> facts;  // "bytes_tested"
  // What ended the test after a wrong result, which counts all the same: bad memory is often followed by an
  // error of the driver. Without a wrong result an error is that of the test.
  std::optional<Error> broken_by = {};
};

// Why a GPU is not to be used together with others now. Nothing: it may be.
using WhyNot = std::function<std::optional<std::string>()>;

struct Peer {
  const GpuFacts& facts;
  WhyNot why_not;
};

// Of one test on one GPU.
struct TestLimits {
  double seconds = 0;
  double memory_share = 0;         // of a GPU that the test opens beside its own
  std::span<const Peer> others{};  // that take part
  WhyNot why_not{};                // of this GPU
  // What the GPU draws now, in watts. Nothing: nobody can tell. May be empty: nobody can ever.
  std::function<std::optional<double>()> watts{};
};

// `work` so often, into the stream: a begin and an end take microseconds, and must not count against what is
// measured.
[[nodiscard]] Status repeat(unsigned times, const std::function<Status()>& work);

// Most wrong results that are told one by one; the last one says how many are left out.
inline constexpr std::size_t kMostWrong = 64;
// Most samples of one series. Each takes milliseconds, so only long tests come here.
inline constexpr std::size_t kMostSamples = 2000;

// Runs `work` once, so that what is slow only the first time is in no figure, then measures it for so many
// seconds, at least once. `amount`: what one run moves or computes, in 10^9 (10^12) of the unit. Ends early
// where the watch says stop.
[[nodiscard]] Result<Series> measure(Session& session, std::string name, std::string unit, double amount,
                                     double seconds, const std::function<Status()>& work);

// Adds one to `wrong` unless there are kMostWrong already.
void add_wrong(Measurement& measurement, Wrong wrong);

// What a test gives that ended so: the error, or what was measured where something of it is wrong.
[[nodiscard]] Result<Measurement> ended(Measurement measurement, const Status& outcome);

[[nodiscard]] std::string hex_text(std::uint64_t bits);

// Blocks of threads that fill the GPU for kernels that go through memory.
[[nodiscard]] Grid wide_grid(const GpuFacts& gpu);

}  // namespace autopilot::probes::gpu
