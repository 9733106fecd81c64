// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce.hpp"

#include <chrono>
#include <cmath>

#include "probes/gpu/nccl/all_reduce_options.hpp"
#include "probes/gpu/nccl/pace.hpp"

namespace autopilot::probes::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWarmUp = 5;
constexpr std::uint64_t kTrial = 4;  // iterations from which the length of a batch comes
// A single iteration that takes longer is trial enough, so that a slow network does not end as a hanging one.
constexpr double kLongIteration = 0.25;
constexpr double kMicro = 1e-6;

std::uint64_t micros(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds / kMicro));
}

class Measurement {
 public:
  Measurement(Communicator& communicator, std::span<Lane> lanes)
      : communicator_(communicator), lanes_(lanes) {
    for (const Lane& lane : lanes) {
      transfers_.push_back({.send = lane.send(), .receive = lane.receive()});
      words_.push_back({.send = lane.own_word(), .receive = lane.agreed_word()});
    }
  }

  Result<AllReduceOutcome> run(int first_rank, double wanted_seconds,
                               const std::function<void(double)>& on_begin) {
    TRY_STATUS(agree_on_size());
    const std::uint64_t agreed = TRY(agree(micros(wanted_seconds), nccl::kMax));
    if (agreed < micros(wanted_seconds) || agreed > micros(kMostSeconds))
      return impossible(micros(wanted_seconds), agreed);
    const double seconds = static_cast<double>(agreed) * kMicro;
    on_begin(seconds);
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      TRY_STATUS(lanes_[i].fill(static_cast<float>(first_rank + static_cast<int>(i) + 1)));
    const double seconds_of_one = TRY(warm_up());
    TRY_STATUS(check());
    TRY_STATUS(make_batches(seconds, seconds_of_one));
    TRY_STATUS(make_last_one());
    TRY_STATUS(tell_wrong(first_rank));
    return std::move(outcome_);
  }

 private:
  Result<std::uint64_t> agree(std::uint64_t proposed, nccl::Operation operation) {
    for (Lane& lane : lanes_)
      TRY_STATUS(lane.write_own_word(proposed));
    TRY_STATUS(communicator_.all_reduce(words_, 1, nccl::kUint64, operation));
    TRY_STATUS(communicator_.wait());
    return lanes_.front().read_agreed_word();
  }

  Status agree_on_size() {
    std::uint64_t bytes = lanes_.front().bytes();
    for (const Lane& lane : lanes_)
      bytes = std::min<std::uint64_t>(bytes, lane.bytes());
    const std::uint64_t agreed = TRY(agree(bytes, nccl::kMin));
    // It is the length of what NCCL writes.
    if (agreed == 0 || agreed > bytes || agreed % sizeof(float) != 0) return impossible(bytes, agreed);
    outcome_.figures.bytes = agreed;
    return {};
  }

  // From the first call to the end of all streams of this process.
  Result<double> seconds_of(std::uint64_t iterations) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) {
      TRY_STATUS(lanes_.front().session().driver().go_on());
      TRY_STATUS(communicator_.all_reduce(transfers_, outcome_.figures.bytes / sizeof(float), nccl::kFloat32,
                                          nccl::kSum));
    }
    TRY_STATUS(communicator_.wait());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // A sum of one number went wrong, which is worse than what was to be measured.
  static tl::unexpected<Error> impossible(std::uint64_t proposed, std::uint64_t agreed) {
    return fail(Errc::malformed, "the ranks agreed on " + std::to_string(agreed) + " where this one said " +
                                     std::to_string(proposed) + ": sums of NCCL are wrong here");
  }

  // A job is as wrong on all machines as on the one whose GPU added wrongly.
  Status tell_wrong(int first_rank) {
    const auto own = static_cast<std::uint64_t>(wrong_lane_ ? first_rank + *wrong_lane_ + 1 : 0);
    const std::uint64_t told = TRY(agree(own, nccl::kMax));
    if (told != 0 && !outcome_.wrong)
      outcome_.wrong = "rank " + std::to_string(told - 1) + ", of another machine, got a wrong sum";
    return {};
  }

  // How long an iteration takes. The first one does not count: it makes connections.
  Result<double> warm_up() {
    static_cast<void>(TRY(seconds_of(1)));
    const double second = TRY(seconds_of(1));
    const std::uint64_t agreed = TRY(agree(micros(second), nccl::kMax));
    if (agreed > micros(kLongIteration)) return second;
    static_cast<void>(TRY(seconds_of(kWarmUp - 2)));
    const double trial = TRY(seconds_of(kTrial));
    return trial / static_cast<double>(kTrial);
  }

  // Whole numbers, and so few that a float holds their sum exactly, in whatever order they are added.
  Status check() {
    const int ranks = communicator_.ranks();
    const int whole = ranks * (ranks + 1) / 2;
    const auto sum = static_cast<float>(whole);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto wrong = TRY(lanes_[i].find_wrong(outcome_.figures.bytes, sum));
      if (!wrong || outcome_.wrong) continue;
      outcome_.wrong = std::move(wrong);
      wrong_lane_ = static_cast<int>(i);
    }
    return {};
  }

  Status make_batches(double seconds, double seconds_of_one) {
    const std::uint64_t iterations = TRY(agree(iterations_of_batch(seconds_of_one, seconds), nccl::kMax));
    AllReduceFigures& figures = outcome_.figures;
    const double bits = static_cast<double>(figures.bytes) * 8;
    const double factor = bus_factor(communicator_.ranks());
    for (std::uint64_t passed = 0; passed < micros(seconds);) {
      const double took = TRY(seconds_of(iterations));
      figures.seconds += took;
      figures.iterations += iterations;
      figures.samples.push_back(bits * static_cast<double>(iterations) * factor / took);
      passed = TRY(agree(micros(figures.seconds), nccl::kMax));
    }
    figures.algorithm_bits_per_second = bits * static_cast<double>(figures.iterations) / figures.seconds;
    figures.bus_bits_per_second = figures.algorithm_bits_per_second * factor;
    return {};
  }

  // The iterations before leave the same sum again and again: whether the last of them wrote it shows only
  // where something else lay there.
  Status make_last_one() {
    for (Lane& lane : lanes_)
      TRY_STATUS(lane.spoil());
    static_cast<void>(TRY(seconds_of(1)));
    return check();
  }

  Communicator& communicator_;
  std::span<Lane> lanes_;
  std::vector<Transfer> transfers_;
  std::vector<Transfer> words_;
  AllReduceOutcome outcome_;
  std::optional<int> wrong_lane_;  // of outcome_.wrong
};

}  // namespace

Result<AllReduceOutcome> measure_all_reduce(Communicator& communicator, std::span<Lane> lanes, int first_rank,
                                            double seconds, const std::function<void(double)>& on_begin) {
  return Measurement(communicator, lanes).run(first_rank, seconds, on_begin);
}

}  // namespace autopilot::probes::gpu
