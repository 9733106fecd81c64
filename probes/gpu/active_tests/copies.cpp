// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/memory.hpp"
#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::size_t kMostCopiedBytes = std::size_t{64} << 20;  // of each of the two directions
constexpr unsigned kCopyRuns = 4;                                // in one sample
constexpr std::uint64_t kCopySeed = 11;

struct Copies {
  Session& session;
  Buffer gpu_in;
  Buffer gpu_out;
  Buffer host_in;
  Buffer host_out;

  [[nodiscard]] Status in(cuda::Stream stream) const {
    const Driver& driver = session.driver();
    return driver.run(driver.calls().copy_to_device, gpu_in.pointer(), host_in.host<void>(), gpu_in.bytes(),
                      stream);
  }
  [[nodiscard]] Status out(const Buffer& from, cuda::Stream stream) const {
    const Driver& driver = session.driver();
    return driver.run(driver.calls().copy_to_host, host_out.host<void>(), from.pointer(), from.bytes(),
                      stream);
  }
};

// Compares the data after a copy to the GPU and back.
Status compare(const Copies& copies, Measurement& measurement) {
  TRY_STATUS(copies.in(copies.session.stream()));
  TRY_STATUS(copies.out(copies.gpu_in, copies.session.stream()));
  TRY_STATUS(copies.session.wait());
  const std::size_t words = copies.host_in.bytes() / sizeof(std::uint64_t);
  const auto* sent = copies.host_in.host<std::uint64_t>();
  const auto* came = copies.host_out.host<std::uint64_t>();
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < words; ++i)
    if (sent[i] != came[i] && wrong++ == 0)
      add_wrong(measurement, {.where = "byte " + std::to_string(i * sizeof(std::uint64_t)) + " of a copy",
                              .count = 0,
                              .detail = "bits " + hex_text(sent[i] ^ came[i])});
  if (wrong > 0) measurement.wrong.back().count = wrong;
  return {};
}

}  // namespace

Result<Measurement> test_pcie(Session& session, const TestLimits& limits) {
  const std::size_t bytes = std::min(kMostCopiedBytes, session.budget_bytes() / 2) / 4096 * 4096;
  auto gpu_in = TRY(session.allocate(bytes));
  auto gpu_out = TRY(session.allocate(bytes));
  auto host_in = TRY(session.allocate_on_host(bytes));
  auto host_out = TRY(session.allocate_on_host(bytes));
  const Copies copies{session, std::move(gpu_in), std::move(gpu_out), std::move(host_in),
                      std::move(host_out)};
  auto* words = copies.host_in.host<std::uint64_t>();
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
    words[i] = kernels::pattern_word(i, kCopySeed);

  Measurement measurement;
  const auto in = [&] { return repeat(kCopyRuns, [&] { return copies.in(session.stream()); }); };
  const auto out = [&](cuda::Stream stream) {
    return repeat(kCopyRuns, [&, stream] { return copies.out(copies.gpu_out, stream); });
  };
  const auto both = [&]() -> Status {
    TRY_STATUS(session.fork());
    TRY_STATUS(in());
    TRY_STATUS(out(session.second_stream()));
    return session.join();
  };
  const double amount = kCopyRuns * static_cast<double>(bytes) / kGiga;
  const double seconds = limits.seconds / 3;
  measurement.series.push_back(TRY(measure(session, "host_to_device", "GB/s", amount, seconds, in)));
  measurement.series.push_back(TRY(
      measure(session, "device_to_host", "GB/s", amount, seconds, [&] { return out(session.stream()); })));
  measurement.series.push_back(TRY(measure(session, "both_ways", "GB/s", 2 * amount, seconds, both)));
  TRY_STATUS(compare(copies, measurement));
  measurement.facts.emplace_back("bytes_of_a_copy", bytes);
  return measurement;
}

namespace {

constexpr std::size_t kMostPeerBytes = std::size_t{64} << 20;
constexpr unsigned kPeerRuns = 16;  // in one sample
constexpr std::uint64_t kPeerSeed = 13;

// Memory on this GPU, and memory of the same size on the other GPU, each in its own context.
struct Pair {
  Session& here;
  Session& there;
  const Buffer& ours;
  const Buffer& theirs;

  [[nodiscard]] Status write() const {
    return here.driver().run(here.driver().calls().copy_to_peer, theirs.pointer(), there.context(),
                             ours.pointer(), here.context(), ours.bytes(), here.stream());
  }
  [[nodiscard]] Status read() const {
    return here.driver().run(here.driver().calls().copy_to_peer, ours.pointer(), here.context(),
                             theirs.pointer(), there.context(), ours.bytes(), here.stream());
  }
};

// True if copies go from GPU to GPU without the host; both contexts are then set up for it.
Result<bool> connect(Session& here, Session& there) {
  const Driver& driver = here.driver();
  int can = 0;
  TRY_STATUS(
      driver.run(driver.calls().device_can_access_peer, &can, here.facts().device, there.facts().device));
  if (can == 0) return false;
  TRY_STATUS(there.make_current());
  TRY_STATUS(driver.run(driver.calls().context_enable_peer, here.context(), 0));
  TRY_STATUS(here.make_current());
  TRY_STATUS(driver.run(driver.calls().context_enable_peer, there.context(), 0));
  return true;
}

// Compares the data after a copy to the other GPU and back.
Status compare(const Pair& pair, const Buffer& result, Measurement& measurement) {
  Session& here = pair.here;
  const Driver& driver = here.driver();
  const Grid grid = wide_grid(here.facts());
  const std::uint64_t count = pair.ours.bytes() / sizeof(std::uint64_t);
  kernels::PatternResult found{.wrong = 0, .first = count, .bits = 0};
  TRY_STATUS(here.copy_to_gpu(result, &found, sizeof found));
  TRY_STATUS(
      here.launch(AUTOPILOT_GPU_KERNEL(pattern_write), grid, pair.ours.pointer(), count, kPeerSeed, 0));
  TRY_STATUS(pair.write());
  TRY_STATUS(driver.run(driver.calls().memory_set, pair.ours.pointer(), 0, pair.ours.bytes(), here.stream()));
  TRY_STATUS(pair.read());
  TRY_STATUS(here.launch(AUTOPILOT_GPU_KERNEL(pattern_verify), grid, pair.ours.pointer(), count, kPeerSeed, 0,
                         result.pointer()));
  TRY_STATUS(here.read(&found, result, 0, sizeof found));
  if (found.wrong > 0)
    add_wrong(measurement, {.where = "byte " + std::to_string(found.first * sizeof(std::uint64_t)) +
                                     " of a copy to " + pair.there.facts().uuid + " and back",
                            .count = found.wrong,
                            .detail = "bits " + hex_text(found.bits)});
  return {};
}

Status measure_pair(const Pair& pair, double seconds, Measurement& measurement) {
  const double amount = kPeerRuns * static_cast<double>(pair.ours.bytes()) / kGiga;
  const auto write_often = [&] { return repeat(kPeerRuns, [&] { return pair.write(); }); };
  const auto read_often = [&] { return repeat(kPeerRuns, [&] { return pair.read(); }); };
  Series write = TRY(measure(pair.here, "write", "GB/s", amount, seconds, write_often));
  Series read = TRY(measure(pair.here, "read", "GB/s", amount, seconds, read_often));
  for (Series* series : {&write, &read}) {
    series->peer = pair.there.facts().uuid;
    measurement.series.push_back(std::move(*series));
  }
  return {};
}

// True if copies between the two bypass the host. `pairs`: pairs of this GPU, and at most as many of every
// other GPU.
Result<bool> test_pair(Session& session, const GpuFacts& other, const TestLimits& limits, std::size_t pairs,
                       const Buffer& result, Measurement& measurement) {
  const auto peer = TRY(Session::open(session.driver(), other, limits.memory_share));
  // Every other GPU uses the same share of this one at the same time.
  const std::size_t share = std::min(session.budget_bytes(), peer->budget_bytes()) / 2 / (pairs + 1);
  const std::size_t bytes = std::min(kMostPeerBytes, share) / 4096 * 4096;
  const auto theirs = TRY(peer->allocate(bytes));
  const bool is_direct = TRY(connect(session, *peer));
  TRY_STATUS(session.make_current());
  const auto ours = TRY(session.allocate(bytes));
  const Pair pair{session, *peer, ours, theirs};
  TRY_STATUS(measure_pair(pair, limits.seconds / (2.0 * static_cast<double>(pairs)), measurement));
  TRY_STATUS(compare(pair, result, measurement));
  return is_direct;
}

void add(Measurement& all, Measurement&& of_pair) {
  std::move(of_pair.series.begin(), of_pair.series.end(), std::back_inserter(all.series));
  for (Wrong& wrong : of_pair.wrong)
    add_wrong(all, std::move(wrong));
}

std::string text_of(const std::vector<UntestedPeer>& left_out) {
  std::string text;
  for (const UntestedPeer& one : left_out)
    text += (text.empty() ? "" : "; ") + one.peer + ": " + one.why;
  return text;
}

}  // namespace

Result<Measurement> test_p2p(Session& session, const TestLimits& limits) {
  if (limits.others.empty()) return fail(Errc::unsupported, "needs a second GPU");
  if (const auto why = limits.why_not()) return fail(Errc::unsupported, *why);
  Measurement measurement;
  std::int64_t peers = 0;
  std::int64_t direct = 0;
  const auto result = TRY(session.allocate(sizeof(kernels::PatternResult)));
  const auto word = TRY(session.allocate(sizeof(std::uint64_t)));
  for (const Peer& other : limits.others) {
    const std::string& uuid = other.facts.uuid;
    if (auto why = other.why_not()) {
      measurement.untested.push_back({.peer = uuid, .why = *std::move(why)});
      continue;
    }
    Measurement of_pair;
    session.driver().note_peer(uuid.c_str());
    const auto is_direct = test_pair(session, other.facts, limits, limits.others.size(), result, of_pair);
    session.driver().note_peer(nullptr);
    TRY_STATUS(session.driver().go_on());
    if (!is_direct) {
      measurement.untested.push_back({.peer = uuid, .why = is_direct.error().what, .has_failed = true});
      continue;
    }
    add(measurement, std::move(of_pair));
    ++peers;
    direct += *is_direct ? 1 : 0;
    TRY_STATUS(session.make_current());
    TRY_STATUS(find_a_planted_word(session, word, result));
  }
  const bool has_failed = std::ranges::any_of(measurement.untested, &UntestedPeer::has_failed);
  if (peers == 0 && has_failed) return measurement;
  if (peers == 0) return fail(Errc::unsupported, "no other GPU is left: " + text_of(measurement.untested));
  measurement.facts.emplace_back("peers", peers);
  measurement.facts.emplace_back("peers_with_direct_access", direct);
  return measurement;
}

}  // namespace autopilot::probes::gpu
