// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::nettest {

[[nodiscard]] inline Subject subject_of(SubjectKind kind, std::string key) {
  Subject subject;
  subject.kind = kind;
  subject.key = std::move(key);
  return subject;
}

// Observations of one test of the network, all of the moment of its end.
class ObservationWriter {
 public:
  explicit ObservationWriter(Instant ended) : ended_(ended) {}

  Observation& add(const Subject& subject, std::string_view name, Value value, std::string_view unit) {
    Observation& observation = observations_.emplace_back();
    observation.name = name;
    observation.subject = subject;
    observation.value = std::move(value);
    observation.unit = unit;
    observation.source = "probe";
    observation.time = ended_;
    return observation;
  }
  Observation& add_count(const Subject& subject, std::string_view name, std::size_t count) {
    return add(subject, name, static_cast<std::int64_t>(count), "count");
  }
  Observation& add_seconds(const Subject& subject, std::string_view name, Duration duration) {
    return add(subject, name, to_seconds(duration), "seconds");
  }
  [[nodiscard]] Observations take() { return std::move(observations_); }

 private:
  Instant ended_;
  Observations observations_;
};

// Printable text of a problem that another node or a helper reports, shortened to kLongest bytes.
[[nodiscard]] inline std::string problem_text(std::string_view said) {
  constexpr std::size_t kLongest = 300;
  return to_printable(said, kLongest);
}

// Means of runs of neighbouring samples, so that at most `most` values are left; `most` is not 0. Pure.
[[nodiscard]] std::vector<double> means_of(std::vector<double> samples, std::size_t most);

}  // namespace autopilot::nettest
