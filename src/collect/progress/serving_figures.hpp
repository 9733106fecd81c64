// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "jobs/records.hpp"

namespace autopilot::collect {

// A sum and a count that only rise, of a histogram.
struct Total {
  double sum = 0;
  double count = 0;
};

// What the metrics of an inference server state at one moment. Counters count from its start.
struct ServingFigures {
  std::string_view server;  // "vLLM", "SGLang", "TGI", "Triton"; valid for ever
  double running = 0;
  double waiting = 0;
  std::optional<double> tokens;    // generated
  std::optional<double> requests;  // finished
  std::optional<Total> first_token_s;
  std::optional<Total> per_token_s;
};

// The metrics of vLLM, SGLang, TGI and Triton in the text format of Prometheus, summed over models and
// engines. Workers of one engine repeat each other; the first counts. nullopt: metrics of another program.
[[nodiscard]] std::optional<ServingFigures> read_serving_figures(std::string_view text);

// The record of the time between two moments, `seconds` apart (above 0). A counter that fell was reset: its
// rate is unknown.
[[nodiscard]] jobs::ServingRecord serving_between(const ServingFigures& before, const ServingFigures& now,
                                                  double seconds);

}  // namespace autopilot::collect
