// SPDX-License-Identifier: Apache-2.0

#include "nettest/plan/readings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace autopilot::nettest {

namespace {

constexpr double kLeastSpread = 0.002;  // smaller differences are rounding, not noise
constexpr double kLowDeviations = 2.3;
constexpr std::size_t kOwnValues = 16;   // a rail with this many values has a reference of its own
constexpr std::size_t kLeastValues = 4;  // fewer values do not show the usual rate
// The spread of few values is uncertain: the noise is increased by this, divided by their number.
constexpr double kFewValues = 40;
constexpr std::size_t kLocalities = 3;
constexpr std::size_t kFewNodes = 4;
// Distance between two groups of values that noise cannot explain.
constexpr double kGapLosses = 2;
constexpr double kGapDeviations = 8;

// The result of one direction before the usual rate is known.
struct Value {
  std::uint32_t record = 0;
  bool is_forward = true;
  double amount = 0;  // median of the samples: a share of the expected rate, else bits/s
  std::size_t samples = 0;
};

bool counts(const Record& record, const std::vector<bool>& gone) {
  return record.result && !record.is_of_low_flows && !gone[record.test.source] &&
         !gone[record.test.destination];
}

using Classes = std::vector<std::vector<const Value*>>;  // by rail, locality, and whether a rate is known

std::size_t class_of(const Record& record) {
  return (record.test.rail * kLocalities + static_cast<std::size_t>(record.locality)) * 2 +
         (record.expected ? 1 : 0);
}

// By class, the median ratio of backward to forward rates of its pairs.
std::vector<std::optional<double>> usual_backs(std::span<const Record> records, const std::vector<bool>& gone,
                                               std::size_t classes) {
  std::vector<std::vector<double>> shares(classes);
  for (const Record& record : records) {
    if (!record.result || !counts(record, gone)) continue;
    const auto& [id, there, back, missing] = *record.result;
    if (!there.empty() && !back.empty())
      shares[class_of(record)].push_back(median_of(back) / median_of(there));
  }
  std::vector<std::optional<double>> usual(classes);
  for (std::size_t i = 0; i < classes; ++i)
    if (shares[i].size() >= kLeastValues) usual[i] = median_of(shares[i]);
  return usual;
}

std::vector<Value> values_of(std::span<const Record> records, const std::vector<bool>& gone,
                             const std::vector<std::optional<double>>& usual_backs) {
  std::vector<Value> values;
  values.reserve(2 * records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!counts(record, gone)) continue;
    for (const bool is_forward : {true, false}) {
      const std::vector<double>& samples = is_forward ? record.result->forward : record.result->backward;
      const auto factor = is_forward ? 1 : usual_backs[class_of(record)];
      if (!samples.empty() && factor)
        values.push_back({static_cast<std::uint32_t>(i), is_forward,
                          median_of(samples) / (record.expected.value_or(1) * *factor), samples.size()});
    }
  }
  return values;
}

// Noise from the differences of consecutive samples, which a uniformly low pair does not affect.
double noise_within(std::span<const Record> records, const std::vector<bool>& gone) {
  std::vector<double> steps;
  for (const Record& record : records) {
    // Across leaves, flows also differ by their paths.
    if (!counts(record, gone) || record.locality == Locality::cross_leaf) continue;
    for (const std::vector<double>* samples : {&record.result->forward, &record.result->backward})
      for (std::size_t i = 1; i < samples->size(); ++i)
        steps.push_back(std::abs((*samples)[i] - (*samples)[i - 1]) / ((*samples)[i] + (*samples)[i - 1]) *
                        2);
  }
  // The median of the absolute value of a normal variable is 0.6745 of its standard deviation. Of the values
  // within three standard deviations (without outliers), the standard deviation is 0.9866 of the total.
  const double rough = median_of(steps) / 0.6745;
  std::erase_if(steps, [&](double step) { return step > 3 * rough; });
  double squares = 0;
  for (const double step : steps)
    squares += step * step;
  const double deviation =
      steps.empty() ? 0 : std::sqrt(squares / static_cast<double>(steps.size())) / 0.9866;
  return deviation / std::numbers::sqrt2;
}

// Input of references: values of the first round if there are enough, because later rounds test mostly
// suspects.
Classes chosen_of(const Classes& classes, std::span<const Record> records) {
  Classes chosen = classes;
  for (std::vector<const Value*>& values : chosen) {
    const auto is_first = [&](const Value* value) { return records[value->record].round == 0; };
    if (static_cast<std::size_t>(std::ranges::count_if(values, is_first)) >= kOwnValues)
      std::erase_if(values, [&](const Value* value) { return !is_first(value); });
  }
  return chosen;
}

// Uses every `step`-th class, starting at `begin`.
Usual usual_of_classes(const Classes& classes, std::size_t begin, std::size_t step) {
  std::vector<double> amounts;
  for (std::size_t i = begin; i < classes.size(); i += step)
    for (const Value* value : classes[i])
      amounts.push_back(value->amount);
  return usual_of(std::move(amounts), kLeastSpread);
}

std::vector<Reference> references_of(const Classes& classes,
                                     const std::vector<std::optional<double>>& backs) {
  std::vector<Reference> references;
  std::array<Usual, kLocalities * 2> pooled{};
  for (std::size_t kind = 1; kind < pooled.size(); kind += 2)
    pooled.at(kind) = usual_of_classes(classes, kind, pooled.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::size_t kind = i % pooled.size();
    Reference made{static_cast<RailNumber>(i / pooled.size()),
                   static_cast<Locality>(kind / 2),
                   kind % 2 == 1,
                   false,
                   false,
                   usual_of_classes(classes, i, classes.size()),
                   backs[i]};
    if (made.has_expected && made.usual.count < kOwnValues) {
      made.is_pooled = true;
      made.usual = pooled.at(kind);
      // Shares of the expected rate are comparable within and across leaves.
      if (made.usual.count < kLeastValues) made.usual = pooled[1];
    }
    references.push_back(made);
  }
  return references;
}

// The upper group, if the values form two groups that are clearly apart; empty otherwise.
std::vector<double> upper_group_of(std::vector<double> values, double least_gap) {
  std::ranges::sort(values, std::greater<>());
  std::size_t upper = 0;
  double widest = least_gap;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (const double gap = 1 - values[i] / values[i - 1]; gap > widest) {
      widest = gap;
      upper = i;
    }
  values.resize(upper);
  return values;
}

// True if pairs of that locality use paths of equal width. Pairs of unknown leaf can use different paths,
// unless they are so few that all met.
bool are_alike(Locality locality, const Fabric& fabric) {
  return locality == Locality::same_leaf ||
         (locality == Locality::unknown && fabric.nodes().size() <= kFewNodes);
}

// If half of a few nodes are slow, most pairs are low: the other values are then not called unusual.
void doubt(Reference& reference, const std::vector<const Value*>& values, double least_gap) {
  if (reference.locality == Locality::cross_leaf || reference.is_pooled || values.size() >= kOwnValues)
    return;
  std::vector<double> amounts;
  for (const Value* value : values)
    amounts.push_back(value->amount);
  const std::vector<double> upper = upper_group_of(std::move(amounts), least_gap);
  if (upper.size() < 2 || reference.usual.centre > upper.back() * (1 - least_gap / 2)) return;
  reference.usual.centre = median_of(upper);
  reference.usual.spread = kLeastSpread;
  reference.is_doubtful = true;
}

// The spread of the values of the classes beyond the noise of their samples.
double noise_between(const std::vector<Reference>& references, const Classes& classes, double within) {
  double sum = 0;
  double weight = 0;
  for (const bool with_cross : {false, true}) {
    for (std::size_t i = 0; i < classes.size() && (weight == 0 || !with_cross); ++i) {
      const Usual& usual = references[i].usual;
      if (classes[i].empty() || usual.count < kLeastValues) continue;
      if ((references[i].locality == Locality::cross_leaf) != with_cross) continue;
      double errors = 0;
      for (const Value* value : classes[i])
        errors += std::pow(within * error_of_median(value->samples), 2);
      const double count = static_cast<double>(classes[i].size());
      // The spread of few values is hardly known.
      const double spread = usual.spread * (1 + 4 / static_cast<double>(usual.count));
      const double doubt =
          1 + 1 / std::sqrt(count) + kFewValues / count;  // of the remainder after subtracting the noise
      sum += count * std::max(0.0, spread * spread - doubt * errors / count);
      weight += count;
    }
  }
  return weight == 0 ? 0 : std::sqrt(sum / weight);
}

Reading reading_of(const Fabric& fabric, const Record& record, std::uint32_t number, bool is_forward) {
  Reading reading;
  reading.record = number;
  reading.from = fabric.number(record.test.rail, is_forward ? record.test.source : record.test.destination);
  reading.to = fabric.number(record.test.rail, is_forward ? record.test.destination : record.test.source);
  reading.is_cross = record.locality == Locality::cross_leaf;
  return reading;
}

}  // namespace

const Reference* find_reference(std::span<const Reference> references, const Record& record) {
  for (const Reference& one : references)
    if (one.rail == record.test.rail && one.locality == record.locality &&
        one.has_expected == record.expected.has_value())
      return &one;
  return nullptr;
}

double low_cut(double deviation, const PairSettings& settings) {
  return std::max(settings.least_loss / 2, kLowDeviations * deviation);
}

std::size_t samples_for(const Noise& noise, const PairSettings& settings) {
  std::size_t samples = std::min(2 * settings.samples, settings.most_samples);
  while (samples < settings.most_samples && noise.within * error_of_median(samples) > settings.aimed_error)
    ++samples;
  return samples;
}

Readings read_records(const Fabric& fabric, std::span<const Record> records, const std::vector<bool>& gone,
                      const PairSettings& settings) {
  Readings made;
  Classes classes(fabric.rails().size() * kLocalities * 2);
  const auto backs = settings.is_back_by_other_means ? usual_backs(records, gone, classes.size())
                                                     : std::vector<std::optional<double>>(classes.size(), 1);
  const std::vector<Value> values = values_of(records, gone, backs);
  for (const Value& value : values)
    classes[class_of(records[value.record])].push_back(&value);
  const Classes chosen = chosen_of(classes, records);
  made.references = references_of(chosen, backs);
  made.noise.within = std::max(noise_within(records, gone), kLeastSpread);
  const double least_gap = std::max(kGapLosses * settings.least_loss, kGapDeviations * made.noise.within);
  for (std::size_t i = 0; i < made.references.size(); ++i)
    if (are_alike(made.references[i].locality, fabric)) doubt(made.references[i], chosen[i], least_gap);
  made.noise.between = noise_between(made.references, chosen, made.noise.within);
  for (const Value& value : values) {
    const Record& record = records[value.record];
    const Usual& usual = made.references[class_of(record)].usual;
    if (usual.count < kLeastValues) continue;
    Reading reading = reading_of(fabric, record, value.record, value.is_forward);
    reading.share = value.amount / usual.centre;
    reading.usual = usual.centre * record.expected.value_or(1);
    // Flows of a pair under two leaves also differ by their paths: more flows do not add precision.
    const std::size_t samples = reading.is_cross ? std::min(value.samples, settings.samples) : value.samples;
    reading.error = made.noise.within * error_of_median(samples);
    reading.is_low = reading.share < 1 - low_cut(std::hypot(reading.error, made.noise.between), settings);
    made.list.push_back(reading);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!counts(records[i], gone) || records[i].result->missing != Missing::no_answer) continue;
    for (const bool is_forward : {true, false}) {
      Reading reading = reading_of(fabric, records[i], static_cast<std::uint32_t>(i), is_forward);
      reading.error = made.noise.within;
      reading.is_low = true;
      reading.is_silent = true;
      made.list.push_back(reading);
    }
  }
  std::erase_if(made.references, [](const Reference& one) { return one.usual.count < kLeastValues; });
  return made;
}

namespace {

// Between the upper quarter and the upper twentieth of healthy values lie 0.97 standard deviations; 1.06 if a
// quarter of all values is low, 1.21 if nearly half is.
constexpr double kUpperWidth = 0.97;
constexpr double kWindow = 2.5;          // standard deviations to each side of the centre
constexpr double kSeenInWindow = 0.955;  // share of the standard deviation that values within the window show
constexpr int kSteps = 6;

double at_share(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

Usual usual_of(std::vector<double> values, double least_spread) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  double centre = at_share(values, 0.75);
  // Slightly low values would widen the window and so add more of them; the upper values do not.
  const double most = (at_share(values, 0.95) - centre) / kUpperWidth;
  double spread = std::max(most, least_spread * centre);
  for (int step = 0; step < kSteps; ++step) {
    const auto begin = std::ranges::lower_bound(values, centre - kWindow * spread);
    const auto end = std::ranges::upper_bound(values, centre + kWindow * spread);
    const double count = static_cast<double>(end - begin);
    if (count == 0) break;
    double sum = 0;
    double squares = 0;
    for (auto at = begin; at != end; ++at) {
      sum += *at - centre;
      squares += (*at - centre) * (*at - centre);
    }
    const double mean = sum / count;
    const double seen = std::sqrt(std::max(0.0, squares / count - mean * mean)) / kSeenInWindow;
    centre += mean;
    spread = std::max(std::min(seen, most), least_spread * centre);
  }
  return {centre, spread / centre, values.size()};
}

double median_of(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  const std::size_t half = sorted.size() / 2;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(half));
  if (sorted.size() % 2 == 1) return sorted[half];
  return (sorted[half] +
          *std::max_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(half))) /
         2;
}

double error_of_median(std::size_t samples) {
  if (samples <= 2) return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(samples, 1)));
  return std::sqrt(std::numbers::pi / 2 / (static_cast<double>(samples) + std::numbers::pi / 2 - 1));
}

double quantile_of_normal(double probability) {
  double low = 0;
  double high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > probability ? low : high) = middle;
  }
  return high;
}

double tail_of_poisson(double expected, std::size_t least) {
  double term = std::exp(-expected);
  double below = 0;
  for (std::size_t i = 0; i < least; ++i) {
    below += term;
    term *= expected / static_cast<double>(i + 1);
  }
  return std::max(0.0, 1 - below);
}

}  // namespace autopilot::nettest
