// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/known_arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sched.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr std::size_t kMaxCpus = 8192;
constexpr int kRounds = 1024;
constexpr int kBlocksPerLook = 64;  // between two reads of the clock
constexpr auto kArithmeticTellEvery = std::chrono::milliseconds{250};
constexpr std::uint64_t kSeed = 0x6175746f70696c6fULL;
constexpr std::uint64_t k24Bits = 0xFFFFFF;

// Multiplier, adder, shifter, and floating-point multiplication and division on whole numbers below 2^48,
// where every result is exact on any processor.
constexpr std::uint64_t compute_block(std::uint64_t seed) {
  std::uint64_t state = seed;
  std::uint64_t answer = ~seed;
  for (int round = 0; round < kRounds; ++round) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    const auto left = static_cast<double>((mixed & k24Bits) + 1);
    const auto right = static_cast<double>(answer & k24Bits);
    const double product = left * right;
    answer = std::rotl(answer * 0xd6e8feb86659fd93ULL + mixed, 27);
    answer += static_cast<std::uint64_t>(product);
    answer ^= static_cast<std::uint64_t>(product / left) << 40;
  }
  return answer;
}

constexpr std::uint64_t kAnswer = compute_block(kSeed);

// The compiler must not know the seed here, or it would not compute.
std::uint64_t compute_here() {
  const volatile std::uint64_t seed = kSeed;
  return compute_block(seed);
}

// A set of CPUs as large as any machine's.
class CpuSet {
 public:
  CpuSet() : words_(kMaxCpus / (8 * sizeof(unsigned long))) {}
  [[nodiscard]] Status read_own() {
    if (::sched_getaffinity(0, bytes(), set()) != 0) return fail_errno(errno, "sched_getaffinity");
    return {};
  }
  [[nodiscard]] std::vector<std::size_t> members() const {
    std::vector<std::size_t> found;
    for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu)
      if (((words_[cpu / kBits] >> (cpu % kBits)) & 1UL) != 0) found.push_back(cpu);
    return found;
  }
  [[nodiscard]] static bool bind_to(std::size_t cpu) {
    CpuSet one;
    one.words_[cpu / kBits] |= 1UL << (cpu % kBits);
    return ::sched_setaffinity(0, one.bytes(), one.set()) == 0;
  }

 private:
  static constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  [[nodiscard]] cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  std::vector<unsigned long> words_;
};

struct Counts {
  std::int64_t cpus = 0;
  std::int64_t refused = 0;
  std::int64_t blocks = 0;
  std::int64_t mismatches = 0;
  std::string wrong_cpus;
};

// Computes blocks on the present CPU until `end`, at least kBlocksPerLook. Returns the number of wrong
// blocks.
std::int64_t compute_until(MonoTime end, std::uint64_t expected, std::int64_t& blocks,
                           const std::function<void(MonoTime)>& on_look) {
  std::int64_t wrong = 0;
  MonoTime now{};
  do {
    for (int block = 0; block < kBlocksPerLook; ++block)
      wrong += compute_here() == expected ? 0 : 1;
    blocks += kBlocksPerLook;
    now = host::mono_now();
    on_look(now);
  } while (now < end);
  return wrong;
}

Observations to_observations(const Counts& counts, Duration took) {
  Observations observations;
  const auto add = [&observations](const std::string& name, Value value, const std::string& unit) {
    Observation& one = observations.emplace_back();
    one.name = "self_test." + name;
    one.value = std::move(value);
    one.unit = unit;
  };
  add("cpus", counts.cpus, "count");
  add("cpus_refused", counts.refused, "count");
  add("blocks", counts.blocks, "count");
  add("mismatches", counts.mismatches, "count");
  add("duration", to_seconds(took), "seconds");
  // A word of the wire is short; the first of many wrong ones will do.
  if (!counts.wrong_cpus.empty()) add("wrong_cpus", counts.wrong_cpus.substr(0, 100), "");
  return observations;
}

std::optional<Duration> parse_seconds(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return SelfTest{}.duration;
  if (arguments.size() != 2 || arguments[0] != "--seconds") return std::nullopt;
  const auto seconds = parse_number<double>(arguments[1]);
  if (!seconds || *seconds <= 0 || *seconds > 3600) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
}

}  // namespace

std::uint64_t self_test_answer() {
  return kAnswer;
}

Result<Observations> test_cpus(const SelfTest& test,
                               const std::function<void(const ChildProgress&)>& on_progress) {
  CpuSet own;
  TRY_STATUS(own.read_own());
  const auto cpus = own.members();
  const MonoTime begin = host::mono_now();
  const auto share = test.duration / static_cast<std::int64_t>(std::max<std::size_t>(1, cpus.size()));
  Counts counts;
  MonoTime next_tell = begin;
  MonoTime end = begin;
  for (const std::size_t cpu : cpus) {
    end += share;
    if (!CpuSet::bind_to(cpu)) {
      ++counts.refused;
      continue;
    }
    const std::string message = "cpu " + std::to_string(cpu);
    const auto tell = [&](MonoTime now) {
      if (now < next_tell) return;
      next_tell = now + kArithmeticTellEvery;
      on_progress({std::min(1.0, to_seconds(now - begin) / to_seconds(test.duration)), message});
    };
    const auto wrong = compute_until(end, test.expected, counts.blocks, tell);
    ++counts.cpus;
    counts.mismatches += wrong;
    if (wrong > 0) counts.wrong_cpus += (counts.wrong_cpus.empty() ? "" : ",") + std::to_string(cpu);
  }
  on_progress({1, std::to_string(counts.cpus) + " CPUs computed " + std::to_string(counts.blocks) +
                      " blocks, " + std::to_string(counts.mismatches) + " wrong"});
  return to_observations(counts, host::mono_now() - begin);
}

int run_self_test(const std::vector<std::string>& arguments) {
  const auto duration = parse_seconds(arguments);
  if (!duration) {
    std::cerr << "autopilot helper self_test: expected --seconds N, from 0 to 3600\n";
    return 64;
  }
  SelfTest test;
  test.duration = *duration;
  // The parent process reads line by line; without a reader the next line ends the process.
  const auto observations =
      test_cpus(test, [](const ChildProgress& progress) { std::cout << to_line(progress) << std::flush; });
  if (!observations) {
    std::cerr << observations.error().what << "\n";
    return 1;
  }
  std::cout << to_line(*observations) << std::flush;
  return std::cout.good() ? 0 : 1;
}

}  // namespace autopilot::diagnostics
