// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/hidden_leaves.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "nettest/plan/leaf_groups.hpp"

namespace autopilot::nettest {
namespace {

// Low beyond the noise of readings in a large fabric.
constexpr double kClearDeviations = 5;
// Least number of unexplained low pairs: one or two of many can be broken links, or noise if there are few
// pairs.
constexpr std::size_t kLeastClear = 2;
constexpr double kPartOfClear = 0.03;
constexpr double kPartOfUnexplained = 0.125;
// A larger number of NICs is not bad at the same time.
constexpr std::size_t kFewNics = 5;
constexpr double kPartOfBad = 0.34;
// Pairs of the first round share no NIC: each slow pair, beyond noise, has its own bad NIC.
constexpr double kPartOfSlow = 0.5;
constexpr double kSlow = 0.15;

using Pair = std::pair<NicNumber, NicNumber>;

bool is_more_than(std::size_t count, double part, std::size_t whole) {
  return static_cast<double>(count) > part * static_cast<double>(whole);
}

// Results of one rail between nodes of unknown locality.
class RailSeen {
 public:
  RailSeen(const Readings& readings, const Ends& ends, const PairSettings& settings)
      : readings_(readings), ends_(ends), settings_(settings) {}

  void add(const Reading& reading, std::size_t round) {
    const Pair pair = std::minmax(reading.from, reading.to);
    pairs_.insert(pair);
    nics_.insert({reading.from, reading.to});
    if (round == 0) first_.insert(pair);
    if (reading.is_silent || 1 - reading.share < settings_.least_loss) return;
    if (round == 0 && 1 - reading.share > kSlow) slow_first_.insert(pair);
    if (reading.is_low) add_low(reading, pair);
  }

  [[nodiscard]] bool are_leaves_hidden() const { return are_too_many_bad() || are_unexplained(); }

 private:
  void add_low(const Reading& reading, const Pair& pair) {
    for (const NicNumber nic : {reading.from, reading.to}) {
      if (ends_.is_bad(nic)) bad_.insert(nic);
      if (!ends_.is_fine(nic)) doubtful_.insert(nic);
    }
    if (!gave_more_elsewhere(2 * reading.from, reading) || !gave_more_elsewhere(2 * reading.to + 1, reading))
      return;
    unexplained_.insert(pair);
    if (1 - reading.share >= kClearDeviations * std::hypot(reading.error, readings_.noise.between))
      clear_.insert(pair);
  }

  // More than half of the loss of the low pair.
  [[nodiscard]] bool gave_more_elsewhere(EndNumber end, const Reading& low) const {
    return std::ranges::any_of(ends_.readings_of(end), [&](std::uint32_t number) {
      const Reading& reading = readings_.list[number];
      const bool is_same = reading.from == low.from && reading.to == low.to;
      return !is_same && !reading.is_low && reading.share > (1 + low.share) / 2;
    });
  }

  [[nodiscard]] bool are_too_many_bad() const {
    return nics_.size() > kFewNics && (is_more_than(doubtful_.size(), kPartOfBad, nics_.size()) ||
                                       is_more_than(slow_first_.size(), kPartOfSlow, first_.size()));
  }

  // A bad NIC together with a broken link is as unlikely as two broken links.
  [[nodiscard]] bool are_unexplained() const {
    if (unexplained_.size() >= kLeastClear &&
        is_more_than(unexplained_.size(), kPartOfUnexplained, pairs_.size()))
      return true;
    const std::size_t clear = clear_.empty() || bad_.empty() ? clear_.size() : clear_.size() + 1;
    return clear >= kLeastClear && is_more_than(clear, kPartOfClear, pairs_.size());
  }

  const Readings& readings_;
  const Ends& ends_;
  const PairSettings& settings_;
  std::set<Pair> pairs_;
  std::set<Pair> first_;        // pairs of the first round
  std::set<Pair> slow_first_;   // slow pairs of the first round
  std::set<Pair> unexplained_;  // low, although both NICs gave more elsewhere
  std::set<Pair> clear_;        // of the unexplained pairs, those beyond noise
  std::set<NicNumber> nics_;
  std::set<NicNumber> bad_;
  std::set<NicNumber> doubtful_;  // not known to be healthy
};

bool is_of_unknown(const Reading& reading, std::span<const Record> records) {
  return records[reading.record].locality == Locality::unknown;
}

}  // namespace

std::vector<RailNumber> rails_of_hidden_leaves(const Fabric& fabric, std::span<const Record> records,
                                               const Readings& readings, const Ends& ends,
                                               const PairSettings& settings) {
  std::vector<RailSeen> rails(fabric.rails().size(), RailSeen(readings, ends, settings));
  for (const Reading& reading : readings.list)
    if (is_of_unknown(reading, records))
      rails[fabric.rail_of(reading.from)].add(reading, records[reading.record].round);
  std::vector<RailNumber> hidden;
  for (RailNumber rail = 0; rail < rails.size(); ++rail)
    if (rails[rail].are_leaves_hidden()) hidden.push_back(rail);
  return hidden;
}

std::vector<RailNumber> rails_that_fit_leaves(const Fabric& fabric, std::span<const Record> records,
                                              const std::vector<bool>& gone, const Readings& readings,
                                              const Ends& ends, const PairSettings& settings) {
  std::vector<RailNumber> rails;
  for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail) {
    const std::size_t nodes = fabric.members(rail, fabric.no_leaf()).size();
    if (nodes > 0 && nodes <= kMostForLeaves) rails.push_back(rail);
  }
  Readings all;  // readings that include departed nodes
  std::optional<Ends> all_ends;
  if (!rails.empty() && std::ranges::find(gone, true) != gone.end()) {
    all = read_records(fabric, records, std::vector<bool>(gone.size()), settings);
    all_ends.emplace(fabric.nics(), all, settings);
  }
  std::erase_if(rails, [&](RailNumber rail) {
    std::vector<MetPair> with_gone;
    if (all_ends) with_gone = met_on(rail, records, all, *all_ends, settings);
    return !fit_leaves(met_on(rail, records, readings, ends, settings), with_gone);
  });
  return rails;
}

Readings without_hidden_leaves(Readings readings, std::span<const Record> records,
                               std::span<const RailNumber> rails) {
  const auto is_hidden = [&rails](RailNumber rail, Locality locality) {
    return locality == Locality::unknown && std::ranges::find(rails, rail) != rails.end();
  };
  std::erase_if(readings.list, [&](const Reading& reading) {
    const Record& record = records[reading.record];
    return reading.is_low && !reading.is_silent && is_hidden(record.test.rail, record.locality);
  });
  std::erase_if(readings.references, [&](const Reference& one) { return is_hidden(one.rail, one.locality); });
  return readings;
}

}  // namespace autopilot::nettest
