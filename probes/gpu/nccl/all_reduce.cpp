// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "probes/gpu/nccl/run_all_reduce.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr double kBatchSeconds = 0.25;

}  // namespace

std::uint64_t bytes_of_iteration(std::uint64_t most_bytes, std::uint64_t trial_bytes,
                                 std::uint64_t trial_micros) {
  if (trial_micros == 0) return most_bytes;
  const std::uint64_t affordable = trial_bytes * kLongIterationMicros / trial_micros;
  if (affordable >= most_bytes) return most_bytes;
  return std::max(trial_bytes, affordable / RankMemory::kPage * RankMemory::kPage);
}

std::uint64_t iterations_of_batch(double seconds_of_one, double seconds) {
  const double wanted = std::min(kBatchSeconds, seconds);
  if (!(seconds_of_one > 0) || !(wanted > 0)) return 1;
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(wanted / seconds_of_one), 1.0, static_cast<double>(kMostIterations)));
}

double bus_factor(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

namespace {

// of a GPU's memory; NCCL allocates buffers of its own in addition
constexpr double kMemoryShare = 0.5;
constexpr unsigned kNoNumber = 0xffffffff;
// Above every value that ranks agree on.
constexpr std::uint64_t kNoWord = ~std::uint64_t{0};

std::size_t whole_pages(std::size_t bytes) {
  return bytes / RankMemory::kPage * RankMemory::kPage;
}

std::string number_text(float number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", static_cast<double>(number));
  return text.data();
}

}  // namespace

Result<RankMemory> RankMemory::open(const Driver& driver, const GpuFacts& gpu, std::size_t most_bytes) {
  auto session = TRY(Session::open(driver, gpu, kMemoryShare, Session::In::primary_context));
  const std::size_t bytes = whole_pages(std::min(most_bytes, (session->budget_bytes() - kPage) / 2));
  auto send = TRY(session->allocate(bytes));
  auto receive = TRY(session->allocate(bytes));
  auto words = TRY(session->allocate(kPage));
  return RankMemory(std::move(session), std::move(send), std::move(receive), std::move(words));
}

Status RankMemory::fill(float value) {
  const Driver& driver = session_->driver();
  TRY_STATUS(session_->make_current());
  TRY_STATUS(driver.run(driver.calls().memory_set_words, send(), std::bit_cast<unsigned>(value),
                        bytes() / sizeof value, session_->stream()));
  return invalidate();
}

Status RankMemory::invalidate() {
  const Driver& driver = session_->driver();
  TRY_STATUS(session_->make_current());
  return driver.run(driver.calls().memory_set_words, receive(), kNoNumber, bytes() / sizeof kNoNumber,
                    session_->stream());
}

Result<std::optional<std::string>> RankMemory::find_wrong(std::size_t bytes, float sum) {
  if (bytes < kWindowBytes || bytes > receive_.bytes())
    return fail(Errc::internal, std::to_string(bytes) + " bytes exceed the buffer");
  TRY_STATUS(session_->make_current());
  std::array<float, kWindowBytes / sizeof(float)> window{};
  for (const std::size_t offset : {std::size_t{0}, whole_pages(bytes / 2), bytes - kWindowBytes}) {
    TRY_STATUS(session_->read(window.data(), receive_, offset, kWindowBytes));
    const auto* wrong =
        std::find_if(window.begin(), window.end(), [sum](float number) { return number != sum; });
    if (wrong == window.end()) continue;
    const auto index = static_cast<std::size_t>(wrong - window.begin());
    return "gpu " + std::to_string(session_->facts().index) + " (" + session_->facts().pci_address +
           "): byte " + std::to_string(offset + index * sizeof(float)) + " of the sum is " +
           number_text(*wrong) + ", not " + number_text(sum);
  }
  return std::nullopt;
}

Status RankMemory::write_own_word(std::uint64_t value) {
  TRY_STATUS(session_->make_current());
  const std::array<std::uint64_t, 2> words{value, kNoWord};
  TRY_STATUS(session_->copy_to_gpu(words_, words.data(), sizeof words));
  return session_->wait();  // some drivers still read a local variable of this function
}

Result<std::uint64_t> RankMemory::read_agreed_word() {
  TRY_STATUS(session_->make_current());
  std::uint64_t value = 0;
  TRY_STATUS(session_->read(&value, words_, sizeof value, sizeof value));
  return value;
}

namespace {

using Clock = std::chrono::steady_clock;

// Size of the first trial. Even a slow network transfers it in time.
constexpr std::uint64_t kTrialBytes = std::uint64_t{1} << 20;
// One delayed trial does not make a network slow.
constexpr int kMostTrials = 3;
// Iterations that do not count: the first one, and the iterations that determine the length of a batch.
constexpr std::uint64_t kFirst = 1;
constexpr std::uint64_t kTimed = 4;
constexpr double kMicro = 1e-6;

std::uint64_t micros(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds / kMicro));
}

// No rank measures longer: a waiting caller gives up earlier.
constexpr auto kMostMicros = static_cast<std::uint64_t>(2 * kMostSeconds / kMicro);

// Limits of the agreed values.
struct Limits {
  std::uint64_t least;
  std::uint64_t most;
};

class AllReduceRun {
 public:
  AllReduceRun(Communicator& communicator, std::span<RankMemory> memories, int first_rank,
               const AllReduceListener& listener)
      : communicator_(communicator), memories_(memories), first_rank_(first_rank), listener_(listener) {
    for (const RankMemory& memory : memories) {
      transfers_.push_back({.send = memory.send(), .receive = memory.receive()});
      words_.push_back({.send = memory.own_word(), .receive = memory.agreed_word()});
    }
  }

  Result<AllReduceFigures> run(double wanted_seconds) {
    const std::uint64_t most_bytes = TRY(agree_on_size());
    const std::uint64_t agreed = TRY(largest(micros(wanted_seconds), micros(kMostSeconds)));
    const double seconds = static_cast<double>(agreed) * kMicro;
    listener_.on_begin(seconds);
    for (std::size_t i = 0; i < memories_.size(); ++i)
      TRY_STATUS(memories_[i].fill(static_cast<float>(rank_of(i) + 1)));
    TRY_STATUS(choose_size(most_bytes));
    const double seconds_of_one = TRY(warm_up());
    TRY_STATUS(check());
    TRY_STATUS(make_batches(seconds, seconds_of_one));
    TRY_STATUS(make_last_one());
    TRY_STATUS(report_wrong());
    return std::move(figures_);
  }

 private:
  [[nodiscard]] int rank_of(std::size_t memory) const { return first_rank_ + static_cast<int>(memory); }

  // The largest of the values of all ranks; each must be at most `most`.
  Result<std::uint64_t> largest(std::uint64_t own, std::uint64_t most) {
    const std::uint64_t capped = std::min(own, most);
    return agree(capped, nccl::kMax, {.least = capped, .most = most});
  }

  // The smallest of the values of all ranks; each must be at least `least`.
  Result<std::uint64_t> smallest(std::uint64_t own, std::uint64_t least) {
    return agree(own, nccl::kMin, {.least = least, .most = own});
  }

  Result<std::uint64_t> agree(std::uint64_t own, nccl::Operation operation, const Limits& limits) {
    for (RankMemory& memory : memories_)
      TRY_STATUS(memory.write_own_word(own));
    TRY_STATUS(communicator_.all_reduce(words_, 1, nccl::kUint64, operation));
    TRY_STATUS(communicator_.wait());
    const std::uint64_t agreed = TRY(memories_.front().read_agreed_word());
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      const std::uint64_t received = TRY(memories_[i].read_agreed_word());
      if (received < limits.least || received > limits.most) return impossible(own, received, rank_of(i));
      if (received != agreed) return contradicting(agreed, received, rank_of(i));
    }
    return agreed;
  }

  // The size is the length of what NCCL writes and of what is read afterwards.
  Result<std::uint64_t> agree_on_size() {
    std::uint64_t bytes = memories_.front().bytes();
    for (const RankMemory& memory : memories_)
      bytes = std::min<std::uint64_t>(bytes, memory.bytes());
    const std::uint64_t agreed = TRY(smallest(bytes, RankMemory::kWindowBytes));
    if (agreed % RankMemory::kPage != 0) return impossible(bytes, agreed, first_rank_);
    return agreed;
  }

  // Reduces the size on a slow network, so that it ends with a low figure: a slow rank cannot be
  // distinguished from a stopped one. The first iteration does not count, because it sets up connections.
  Status choose_size(std::uint64_t most_bytes) {
    const std::uint64_t trial_bytes = std::min(most_bytes, kTrialBytes);
    figures_.bytes = trial_bytes;
    static_cast<void>(TRY(seconds_of(1)));
    std::uint64_t fastest = kMostMicros;
    std::uint64_t chosen = 0;
    for (int i = 0; i < kMostTrials && chosen != trial_bytes && chosen != most_bytes; ++i) {
      const double took = TRY(seconds_of(1));
      const std::uint64_t agreed = TRY(largest(micros(took), kMostMicros));
      fastest = std::min(fastest, agreed);
      chosen = bytes_of_iteration(most_bytes, trial_bytes, fastest);
    }
    figures_.bytes = chosen;
    return {};
  }

  // From the first call to the end of all streams of this process.
  Result<double> seconds_of(std::uint64_t iterations) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) {
      TRY_STATUS(memories_.front().session().driver().go_on());
      TRY_STATUS(
          communicator_.all_reduce(transfers_, figures_.bytes / sizeof(float), nccl::kFloat32, nccl::kSum));
    }
    TRY_STATUS(communicator_.wait());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // Later errors can be consequences of the first.
  void note_wrong(std::string text, std::optional<int> rank) {
    if (rank) last_wrong_ = *rank;
    if (wrong_) return;
    wrong_ = WrongSum{std::move(text), rank};
    listener_.on_wrong(*wrong_);
  }

  [[nodiscard]] std::string are_wrong() const {
    return ": sums of " + communicator_.name() + " are wrong here";
  }

  // A sum of one number is wrong, which is worse than a missing measurement.
  tl::unexpected<Error> impossible(std::uint64_t sent, std::uint64_t received, int rank) {
    std::string text = "rank " + std::to_string(rank) + " sent " + std::to_string(sent) +
                       " and received as the agreed value " + std::to_string(received) + are_wrong();
    note_wrong(text, rank);
    return fail(Errc::malformed, std::move(text));
  }

  // It is unknown which of both values is wrong.
  tl::unexpected<Error> contradicting(std::uint64_t first, std::uint64_t other, int rank) {
    std::string text = "rank " + std::to_string(first_rank_) + " received as the agreed value " +
                       std::to_string(first) + ", rank " + std::to_string(rank) + " received " +
                       std::to_string(other) + are_wrong();
    note_wrong(text, std::nullopt);
    return fail(Errc::malformed, std::move(text));
  }

  // A job is wrong on all machines if one GPU adds wrongly. If a GPU corrupts data before the others receive
  // it, the sum is wrong on all machines; the first and the last wrong rank show whether only one is
  // affected.
  Status report_wrong() {
    const auto none = static_cast<std::uint64_t>(communicator_.ranks());
    const int own = wrong_ ? wrong_->rank.value_or(first_rank_) : communicator_.ranks();
    const std::uint64_t first_wrong = TRY(smallest(static_cast<std::uint64_t>(own), 0));
    const std::uint64_t ranks_up_to_last = TRY(largest(static_cast<std::uint64_t>(last_wrong_ + 1), none));
    if (first_wrong == none) return {};
    const int rank = static_cast<int>(first_wrong);
    if (!wrong_)
      wrong_ = WrongSum{"rank " + std::to_string(rank) + ", of another machine, got a wrong sum", {}};
    wrong_->rank = rank;
    wrong_->last = static_cast<int>(ranks_up_to_last) - 1;
    listener_.on_wrong(*wrong_);
    return {};
  }

  // Duration of one iteration.
  Result<double> warm_up() {
    static_cast<void>(TRY(seconds_of(kFirst)));
    const double timed = TRY(seconds_of(kTimed));
    return timed / static_cast<double>(kTimed);
  }

  // Small integers, so that a float holds their sum exactly, in any order.
  Status check() {
    const int ranks = communicator_.ranks();
    const int whole = ranks * (ranks + 1) / 2;
    const auto sum = static_cast<float>(whole);
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      auto wrong = TRY(memories_[i].find_wrong(figures_.bytes, sum));
      if (wrong) note_wrong(*std::move(wrong), rank_of(i));
    }
    return {};
  }

  Status make_batches(double seconds, double seconds_of_one) {
    const std::uint64_t iterations =
        TRY(largest(iterations_of_batch(seconds_of_one, seconds), kMostIterations));
    const double bits = static_cast<double>(figures_.bytes) * 8;
    const double factor = bus_factor(communicator_.ranks());
    for (std::uint64_t passed = 0; passed < micros(seconds);) {
      const double took = TRY(seconds_of(iterations));
      figures_.seconds += took;
      figures_.iterations += iterations;
      figures_.samples.push_back(bits * static_cast<double>(iterations) * factor / took);
      passed = TRY(largest(micros(figures_.seconds), kMostMicros));
    }
    figures_.algorithm_bits_per_second = bits * static_cast<double>(figures_.iterations) / figures_.seconds;
    figures_.bus_bits_per_second = figures_.algorithm_bits_per_second * factor;
    return {};
  }

  // Earlier iterations leave the same sum: whether the last one wrote it shows only if the buffer had another
  // value before.
  Status make_last_one() {
    for (RankMemory& memory : memories_)
      TRY_STATUS(memory.invalidate());
    static_cast<void>(TRY(seconds_of(1)));
    return check();
  }

  Communicator& communicator_;
  std::span<RankMemory> memories_;
  int first_rank_;
  const AllReduceListener& listener_;
  AllReduceFigures figures_;
  std::optional<WrongSum> wrong_;
  int last_wrong_ = -1;  // last wrong rank of this process; -1: none
  std::vector<Transfer> transfers_;
  std::vector<Transfer> words_;
};

}  // namespace

Result<AllReduceFigures> measure_all_reduce(Communicator& communicator, std::span<RankMemory> memories,
                                            int first_rank, double seconds,
                                            const AllReduceListener& listener) {
  return AllReduceRun(communicator, memories, first_rank, listener).run(seconds);
}

}  // namespace autopilot::probes::gpu
