// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/ends.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace autopilot::nettest {
namespace {

constexpr int kPasses =
    3;  // a partner clears a NIC only if it is healthy itself, so the result needs several passes
constexpr std::size_t kLeastBetweenFine = 8;    // readings; fewer do not show whether flows share an uplink
constexpr double kLeastConfidence = 0.98;       // least confidence to call an end bad
constexpr double kMostConfidenceOfEnds = 0.99;  // the tests have no data about paths that they do not use

EndNumber sender_of(const Reading& reading) {
  return 2 * reading.from;
}
EndNumber receiver_of(const Reading& reading) {
  return 2 * reading.to + 1;
}

// The middle between the low value and the usual value.
double bar_of_bits(const Reading& low) {
  return low.usual * (1 + low.share) / 2;
}

// True for a test that was not low and in which an end limited to those bits/s would have been low.
bool has_passed_above(const Reading& reading, double bits) {
  return !reading.is_low && reading.usual * std::max(1.0, reading.share) > bits;
}

}  // namespace

Ends::Ends(std::size_t nics, const Readings& readings, const PairSettings& settings)
    : readings_(readings), settings_(settings), views_(2 * nics) {
  index_readings();
  std::vector<EndNumber> doubtful;
  std::size_t measured = 0;
  for (EndNumber end = 0; end < views_.size(); ++end) {
    const auto list = readings_of(end);
    if (list.empty()) continue;
    ++measured;
    EndView& view = views_[end];
    view.state = EndState::fine;
    bool is_low = false;
    for (const std::uint32_t number : list) {
      const Reading& reading = readings_.list[number];
      is_low = is_low || reading.is_low;
      if (reading.is_low) continue;
      view.has_passed_in_leaf = view.has_passed_in_leaf || !reading.is_cross;
    }
    if (is_low) doubtful.push_back(end);
  }
  may_flows_meet_ = settings.is_one_flow() && may_flows_meet();
  // In many readings some are low by noise; only a share of runs can accuse a healthy NIC.
  least_deviations_ = quantile_of_normal(settings.false_accusations /
                                         static_cast<double>(std::max<std::size_t>(measured, 1)));
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<EndView> weighed;
    weighed.reserve(doubtful.size());
    for (const EndNumber end : doubtful)
      weighed.push_back(weigh(end));
    for (std::size_t i = 0; i < doubtful.size(); ++i)
      views_[doubtful[i]] = weighed[i];
  }
}

bool Ends::is_between_fine(const Reading& reading) const {
  return reading.is_cross && !reading.is_silent && views_[sender_of(reading)].has_passed_in_leaf &&
         views_[receiver_of(reading)].has_passed_in_leaf;
}

// Each pair uses one path between leaves, and another path in its next test; flows that shared an uplink once
// can have shared one each time. Uses tests whose two ends are healthy within their leaves, or all tests if
// no end is.
bool Ends::may_flows_meet() const {
  std::size_t between_fine = 0;
  for (const Reading& reading : readings_.list) {
    if (!is_between_fine(reading)) continue;
    if (1 - reading.share >= settings_.least_loss) return true;
    ++between_fine;
  }
  const bool is_known_within = std::ranges::any_of(views_, &EndView::has_passed_in_leaf);
  return is_known_within && between_fine < kLeastBetweenFine;
}

void Ends::index_readings() {
  begins_.assign(views_.size() + 1, 0);
  for (const Reading& reading : readings_.list) {
    ++begins_[sender_of(reading) + 1];
    ++begins_[receiver_of(reading) + 1];
  }
  for (std::size_t i = 1; i < begins_.size(); ++i)
    begins_[i] += begins_[i - 1];
  by_end_.resize(begins_.back());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  for (std::uint32_t i = 0; i < readings_.list.size(); ++i) {
    by_end_[next[sender_of(readings_.list[i])]++] = i;
    by_end_[next[receiver_of(readings_.list[i])]++] = i;
  }
}

std::span<const std::uint32_t> Ends::readings_of(EndNumber end) const {
  return std::span(by_end_).subspan(begins_[end], begins_[end + 1] - begins_[end]);
}

bool Ends::is_fine(NicNumber nic) const {
  return sends(nic).state == EndState::fine && receives(nic).state == EndState::fine;
}

bool Ends::is_bad(NicNumber nic) const {
  return sends(nic).state == EndState::bad || receives(nic).state == EndState::bad;
}

EndNumber Ends::other_end(const Reading& reading, EndNumber end) const {
  return sender_of(reading) == end ? receiver_of(reading) : sender_of(reading);
}

// The normal difference between healthy pairs does not count as low.
double Ends::deviation_of(const Reading& reading) const {
  return reading.is_silent ? reading.error : std::hypot(reading.error, readings_.noise.between);
}

// What the end reached in tests with other partners that passed above the bar; `otherwise` if there are none.
double Ends::passed_share(EndNumber end, EndNumber other, const Bar& bar, double otherwise) const {
  std::vector<std::uint32_t> passed;
  for (const std::uint32_t number : readings_of(end)) {
    const Reading& reading = readings_.list[number];
    if (has_passed_above(reading, bar.bits) && other_end(reading, end) != other) passed.push_back(number);
  }
  return passed.empty() ? otherwise : mean_of(passed).first;
}

// The end came nearer to the usual value than to the low share with other partners: a slow end can pass
// occasionally.
bool Ends::is_cleared(EndNumber end, EndNumber other, const Bar& bar) const {
  if (views_[end].state == EndState::bad) return false;
  return passed_share(end, other, bar, 0) > bar.share;
}

double Ends::least_to_pass(EndNumber end) const {
  double bits = 0;
  for (const std::uint32_t number : readings_of(end))
    if (readings_.list[number].is_low) bits = std::max(bits, bar_of_bits(readings_.list[number]));
  return bits;
}

bool Ends::has_passed(EndNumber end) const {
  const double bits = least_to_pass(end);
  return std::ranges::any_of(
      readings_of(end), [&](std::uint32_t number) { return has_passed_above(readings_.list[number], bits); });
}

// A test of the end was clearly above that reading.
bool Ends::has_given_more(EndNumber end, const Reading& low) const {
  const double bits = low.share * low.usual / (1 - settings_.least_loss);
  return std::ranges::any_of(readings_of(end), [&](std::uint32_t number) {
    const Reading& reading = readings_.list[number];
    return reading.share * reading.usual > bits;
  });
}

// Across leaves, a low reading counts against an end only if the end is not healthy within its own leaf and
// no flows shared an uplink.
bool Ends::may_be_of_end(EndNumber end, const Reading& low) const {
  if (!low.is_cross) return true;
  if (views_[end].has_passed_in_leaf) return false;
  if (low.is_silent || !settings_.is_one_flow()) return true;
  return !may_flows_meet_ && !has_given_more(end, low);
}

// A low test counts against an end only if its partner is healthy with others. A passed test counts for it
// only if an end that slow would not have passed.
std::vector<std::uint32_t> Ends::what_counts(EndNumber end) const {
  std::vector<std::uint32_t> counting;
  double bits = 0;
  for (const std::uint32_t number : readings_of(end)) {
    const Reading& reading = readings_.list[number];
    if (!reading.is_low || !may_be_of_end(end, reading)) continue;
    const Bar bar{(1 + reading.share) / 2, bar_of_bits(reading)};
    if (!is_cleared(other_end(reading, end), end, bar)) continue;
    counting.push_back(number);
    bits = std::max(bits, bar.bits);
  }
  for (const std::uint32_t number : readings_of(end))
    if (has_passed_above(readings_.list[number], bits)) counting.push_back(number);
  std::ranges::sort(counting);
  return counting;
}

std::pair<double, double> Ends::mean_of(std::span<const std::uint32_t> readings) const {
  double weight = 0;
  double sum = 0;
  bool are_silent = true;
  for (const std::uint32_t number : readings) {
    const Reading& reading = readings_.list[number];
    const double own = 1 / (reading.error * reading.error);
    weight += own;
    sum += own * reading.share;
    are_silent = are_silent && reading.is_silent;
  }
  return {sum / weight, std::hypot(std::sqrt(1 / weight), are_silent ? 0 : readings_.noise.between)};
}

bool Ends::is_significant(double share, double deviation) const {
  return 1 - share >= settings_.least_loss && 1 - share > least_deviations_ * deviation;
}

EndView Ends::weigh(EndNumber end) const {
  EndView view;
  view.has_passed = has_passed(end);
  view.has_passed_in_leaf = views_[end].has_passed_in_leaf;
  view.state = EndState::fine;
  const std::vector<std::uint32_t> counting = what_counts(end);
  const bool counts_against =
      std::ranges::any_of(counting, [&](std::uint32_t number) { return readings_.list[number].is_low; });
  if (counts_against) {
    weigh_against_link(end, counting, view);
  } else if (!view.has_passed) {
    view.state = EndState::open;
    for (const std::uint32_t number : readings_of(end))
      view.share = std::min(view.share, readings_.list[number].share);
  }
  return view;
}

// Compares two explanations of the readings: an end that is low with all partners, or a bad path to one
// partner while all other partners are as usual.
void Ends::weigh_against_link(EndNumber end, std::span<const std::uint32_t> counting, EndView& view) const {
  std::map<EndNumber, Partner> partners;
  for (const std::uint32_t number : counting) {
    const Reading& reading = readings_.list[number];
    Partner& partner = partners[other_end(reading, end)];
    const double weight = 1 / (reading.error * reading.error);
    partner.weight += weight;
    partner.sum += weight * reading.share;
  }
  const auto worst = std::ranges::min_element(
      partners, {}, [](const auto& one) { return one.second.sum / one.second.weight; });
  const double worst_share = worst->second.sum / worst->second.weight;
  const auto [mean, deviation] = mean_of(counting);
  double misfit_of_end = 0;
  double misfit_of_link = 0;
  view.is_silent = true;
  for (const std::uint32_t number : counting) {
    const Reading& reading = readings_.list[number];
    const double usual = other_end(reading, end) == worst->first ? worst_share : 1;
    misfit_of_end += std::pow((reading.share - mean) / deviation_of(reading), 2);
    misfit_of_link += std::pow((reading.share - usual) / deviation_of(reading), 2);
    view.is_silent = view.is_silent && reading.is_silent;
  }
  view.share = mean;
  if (partners.size() < 2) {
    // The end, or the path to its only healthy partner.
    view.partners = 1;
    view.state = 1 - mean > low_cut(deviation, settings_) ? EndState::open : EndState::fine;
    return;
  }
  const double odds = 1 / (1 + std::exp((misfit_of_end - misfit_of_link) / 2));
  if (misfit_of_link <= misfit_of_end) {
    view.link_confidence = std::min(kMostConfidenceOfEnds, 1 - odds);
    return;
  }
  view.partners = static_cast<std::size_t>(std::ranges::count_if(
      partners, [&](const auto& one) { return one.second.sum / one.second.weight < 1 - (1 - mean) / 2; }));
  view.confidence = std::min(kMostConfidenceOfEnds, odds);
  if (is_significant(mean, deviation) && view.confidence >= kLeastConfidence) {
    view.state = EndState::bad;
  } else if (1 - mean > low_cut(deviation, settings_)) {
    view.state = EndState::open;
  }
}

std::vector<LowPair> Ends::low_pairs() const {
  std::map<std::pair<NicNumber, NicNumber>, LowPair> pairs;
  for (std::uint32_t number = 0; number < readings_.list.size(); ++number) {
    const Reading& reading = readings_.list[number];
    if (!reading.is_low) continue;
    const EndView& sender = views_[sender_of(reading)];
    const EndView& receiver = views_[receiver_of(reading)];
    if (sender.state == EndState::bad || receiver.state == EndState::bad) continue;
    LowPair& pair = pairs[{reading.from, reading.to}];
    pair.from = reading.from;
    pair.to = reading.to;
    pair.is_cross = reading.is_cross;
  }
  std::vector<LowPair> list;
  for (auto& [ends, pair] : pairs) {
    pair.is_silent = true;
    double usual_bits = 0;
    for (const std::uint32_t number : readings_of(2 * pair.from)) {
      const Reading& reading = readings_.list[number];
      if (reading.to != pair.to) continue;
      pair.readings.push_back(number);
      pair.low += reading.is_low ? 1 : 0;
      usual_bits = std::max(usual_bits, reading.usual);
      pair.is_silent = pair.is_silent && reading.is_silent;
    }
    const auto [mean, deviation] = mean_of(pair.readings);
    pair.share = mean;
    const EndNumber sender = 2 * pair.from;
    const EndNumber receiver = 2 * pair.to + 1;
    // Two ends that are both slightly low do not make a broken link.
    const Bar bar{(1 + mean) / 2, usual_bits * (1 + mean) / 2};
    const double usual =
        std::min(passed_share(sender, receiver, bar, 1), passed_share(receiver, sender, bar, 1));
    pair.is_significant = is_significant(mean + 1 - std::min(1.0, usual), deviation);
    pair.confidence = std::min(views_[sender].link_confidence, views_[receiver].link_confidence);
    pair.are_ends_fine = is_cleared(sender, receiver, bar) && is_cleared(receiver, sender, bar);
    list.push_back(std::move(pair));
  }
  return list;
}

}  // namespace autopilot::nettest
