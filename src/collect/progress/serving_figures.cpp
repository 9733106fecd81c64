// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/serving_figures.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "collect/progress/prometheus.hpp"

namespace autopilot::collect {
namespace {

// Names of metrics; of several the first that the server has. A name can have a label: "name|key=value".
struct ServerNames {
  std::string_view server;
  std::string_view source;
  std::string_view date;
  std::array<std::string_view, 2> running, waiting, tokens, requests;
  std::array<std::string_view, 3> first_token, per_token;  // histograms
  double time_unit_s;                                      // of first_token
};

constexpr std::array kServers{
    ServerNames{"vLLM",
                "docs.vllm.ai/en/v0.9.1/usage/metrics.html and docs/design/metrics.md of vllm-project/vllm",
                "2026-11-29",
                {"vllm:num_requests_running"},
                {"vllm:num_requests_waiting"},
                {"vllm:generation_tokens_total"},
                {"vllm:request_success_total"},
                {"vllm:time_to_first_token_seconds"},
                {"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
                 "vllm:request_time_per_output_token_seconds"},
                1},
    ServerNames{"SGLang",
                "docs.sglang.io/references/production_metrics.html",
                "2026-11-29",
                {"sglang:num_running_reqs"},
                {"sglang:num_queue_reqs"},
                {"sglang:generation_tokens_total"},
                {"sglang:num_requests_total"},
                {"sglang:time_to_first_token_seconds"},
                {"sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"},
                1},
    ServerNames{"TGI",
                "huggingface.co/docs/text-generation-inference/reference/metrics",
                "2026-11-29",
                {"tgi_batch_current_size"},
                {"tgi_queue_size"},
                {"tgi_request_generated_tokens_sum"},
                {"tgi_request_success", "tgi_request_count"},
                {},
                {"tgi_request_mean_time_per_token_duration"},
                1},
    ServerNames{
        "Triton",
        "docs.nvidia.com Triton user guide, metrics; README of triton-inference-server/tensorrtllm_backend",
        "2026-11-29",
        {"nv_trt_llm_request_metrics|request_type=scheduled"},
        {"nv_trt_llm_request_metrics|request_type=waiting", "nv_inference_pending_request_count"},
        {},
        {"nv_inference_request_success"},
        {"nv_inference_first_response_histogram_ms"},
        {},
        1e-3},
};

using Sums = std::map<std::string, double, std::less<>>;

// Series of further workers of an engine, or parts of a sum that is there as well.
bool is_repetition(const PrometheusSample& sample) {
  static constexpr std::array<std::string_view, 3> kWorkers{"tp_rank", "pp_rank", "moe_ep_rank"};
  const bool is_other_worker = std::any_of(kWorkers.begin(), kWorkers.end(), [&](std::string_view key) {
    const std::string_view worker = sample.label(key);
    return !worker.empty() && worker != "0";
  });
  return is_other_worker || !sample.label("priority").empty();
}

bool is_wanted(std::string_view name) {
  return name.starts_with("vllm:") || name.starts_with("sglang:") || name.starts_with("tgi_") ||
         name.starts_with("nv_");
}

Sums sums_of(std::string_view text) {
  Sums sums;
  read_prometheus(text, [&](PrometheusSample sample) {
    // Ray Serve puts its own prefix before the names of vLLM.
    if (sample.name.starts_with("ray_vllm:")) sample.name.remove_prefix(4);
    if (!is_wanted(sample.name) || sample.name.ends_with("_bucket") || is_repetition(sample)) return;
    std::string key(sample.name);
    if (const std::string_view type = sample.label("request_type"); !type.empty() && type.size() < 32)
      key.append("|request_type=").append(type);
    sums[key] += sample.value;
  });
  return sums;
}

template <std::size_t N>
std::optional<double> first_of(const Sums& sums, const std::array<std::string_view, N>& names,
                               std::string_view suffix = {}) {
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    if (const auto known = sums.find(std::string(name).append(suffix)); known != sums.end())
      return known->second;
  }
  return std::nullopt;
}

std::optional<Total> total_of(const Sums& sums, const std::array<std::string_view, 3>& names, double unit) {
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const auto sum = sums.find(std::string(name) + "_sum");
    const auto count = sums.find(std::string(name) + "_count");
    if (sum != sums.end() && count != sums.end()) return Total{sum->second * unit, count->second};
  }
  return std::nullopt;
}

std::optional<double> rate(const std::optional<double>& before, const std::optional<double>& now,
                           double seconds) {
  if (!before || !now || *now < *before) return std::nullopt;
  return (*now - *before) / seconds;
}

std::optional<double> mean(const std::optional<Total>& before, const std::optional<Total>& now) {
  if (!before || !now || now->count <= before->count || now->sum < before->sum) return std::nullopt;
  return (now->sum - before->sum) / (now->count - before->count);
}

}  // namespace

std::optional<ServingFigures> read_serving_figures(std::string_view text) {
  const Sums sums = sums_of(text);
  for (const ServerNames& names : kServers) {
    const auto running = first_of(sums, names.running);
    const auto waiting = first_of(sums, names.waiting);
    const auto requests = first_of(sums, names.requests);
    if (!running && !waiting && !requests) continue;
    ServingFigures figures;
    figures.server = names.server;
    figures.running = std::max(0.0, running.value_or(0));
    figures.waiting = std::max(0.0, waiting.value_or(0));
    figures.tokens = first_of(sums, names.tokens);
    figures.requests = requests;
    figures.first_token_s = total_of(sums, names.first_token, names.time_unit_s);
    figures.per_token_s = total_of(sums, names.per_token, 1);
    return figures;
  }
  return std::nullopt;
}

jobs::ServingRecord serving_between(const ServingFigures& before, const ServingFigures& now, double seconds) {
  jobs::ServingRecord record;
  record.running = now.running;
  record.waiting = now.waiting;
  record.tokens_s = rate(before.tokens, now.tokens, seconds);
  record.requests_s = rate(before.requests, now.requests, seconds);
  record.first_token_s = mean(before.first_token_s, now.first_token_s);
  record.per_token_s = mean(before.per_token_s, now.per_token_s);
  return record;
}

}  // namespace autopilot::collect
