// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "probes/gpu/driver/session.hpp"
#include "probes/gpu/nccl/communicator.hpp"
#include "probes/gpu/nccl/report.hpp"

namespace autopilot::probes::gpu {

// Limit of iterations in the streams of a GPU at once, because they use memory of the driver.
inline constexpr std::uint64_t kMostIterations = 1000;
// An iteration above this duration uses fewer bytes.
inline constexpr std::uint64_t kLongIterationMicros = 250'000;

// Bytes of an iteration, from the duration of one with `trial_bytes`: `most_bytes`, or as many whole pages as
// do not take too long; at least `trial_bytes`. Uses integers only, so that all machines get the same result.
[[nodiscard]] std::uint64_t bytes_of_iteration(std::uint64_t most_bytes, std::uint64_t trial_bytes,
                                               std::uint64_t trial_micros);

// Iterations of a batch, from the duration of one: about a quarter of a second, or all of `seconds` if that
// is less. At least one, at most kMostIterations.
[[nodiscard]] std::uint64_t iterations_of_batch(double seconds_of_one, double seconds);

// Factor that nccl-tests applies to the rate of an all-reduce, for comparison with a link rate: each byte of
// n ranks passes 2 (n - 1) / n links.
[[nodiscard]] double bus_factor(int ranks);

// One GPU in an all-reduce, with its memory: the sent data, the received data, and a word by which the ranks
// agree on values.
class RankMemory {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kWindowBytes = 4096;  // read by find_wrong() at a time

  // Allocates two buffers of `most_bytes`, or smaller ones if the GPU has less memory; in whole pages.
  // Errc::exhausted: almost no memory is free.
  [[nodiscard]] static Result<RankMemory> open(const Driver& driver, const GpuFacts& gpu,
                                               std::size_t most_bytes);

  [[nodiscard]] Session& session() const { return *session_; }
  [[nodiscard]] std::size_t bytes() const { return send_.bytes(); }
  [[nodiscard]] cuda::DevicePointer send() const { return send_.pointer(); }
  [[nodiscard]] cuda::DevicePointer receive() const { return receive_.pointer(); }
  [[nodiscard]] cuda::DevicePointer own_word() const { return words_.pointer(); }
  [[nodiscard]] cuda::DevicePointer agreed_word() const { return words_.pointer() + sizeof(std::uint64_t); }

  // Fills the sent data with one number.
  Status fill(float value);
  // Corrupts the received data, so that only a new reception passes.
  Status invalidate();
  // Compares the beginning, the middle and the end of the `bytes` received bytes, at least kWindowBytes, with
  // `sum`. nullopt: all equal.
  [[nodiscard]] Result<std::optional<std::string>> find_wrong(std::size_t bytes, float sum);

  // Discards the previously agreed value.
  Status write_own_word(std::uint64_t value);
  [[nodiscard]] Result<std::uint64_t> read_agreed_word();

 private:
  RankMemory(std::unique_ptr<Session> session, Buffer send, Buffer receive, Buffer words)
      : session_(std::move(session)),
        send_(std::move(send)),
        receive_(std::move(receive)),
        words_(std::move(words)) {}

  std::unique_ptr<Session> session_;
  Buffer send_;
  Buffer receive_;
  Buffer words_;
};

// A GPU received a wrong sum.
struct WrongSum {
  std::string text;  // the first wrong position in this process; if only other processes have one, the rank
  std::optional<int> rank;       // the first wrong rank of all; not set if unknown
  std::optional<int> last = {};  // the last wrong rank, once the ranks have agreed on it
};

// Callbacks for results before the end.
struct AllReduceListener {
  std::function<void(double)> on_begin;           // with the agreed duration, in seconds
  std::function<void(const WrongSum&)> on_wrong;  // immediately, and again with more details
};

// Measures the all-reduce of all ranks; each of them must call it. Every rank sends one constant number of
// its own, so that there is one correct sum. The ranks agree on the size (that of the smallest buffer, or the
// amount that a slow network transfers in a quarter of a second), on the duration (the longest requested
// one), and on every further batch, so that all make the same calls. A wrong sum does not end the
// measurement, because the other ranks would wait. Errc::malformed: the agreed value is impossible; the
// listener receives it as a wrong sum.
[[nodiscard]] Result<AllReduceFigures> measure_all_reduce(Communicator& communicator,
                                                          std::span<RankMemory> memories, int first_rank,
                                                          double seconds, const AllReduceListener& listener);

}  // namespace autopilot::probes::gpu
