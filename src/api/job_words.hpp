// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/health.hpp"
#include "core/word_table.hpp"
#include "jobs/findings.hpp"
#include "jobs/metrics.hpp"
#include "jobs/records.hpp"

// The words of docs/reference/job-telemetry.md.
namespace autopilot::api::job_format {

inline constexpr WordTable<jobs::JobKind, 2> kJobKinds{
    {{jobs::JobKind::training, "training"}, {jobs::JobKind::inference, "inference"}}};
inline constexpr WordTable<jobs::Outcome, 5> kOutcomes{{{jobs::Outcome::completed, "completed"},
                                                        {jobs::Outcome::failed, "failed"},
                                                        {jobs::Outcome::stopped, "stopped"},
                                                        {jobs::Outcome::preempted, "preempted"},
                                                        {jobs::Outcome::unknown, "unknown"}}};
inline constexpr WordTable<jobs::Phase, 6> kPhases{{{jobs::Phase::startup, "startup"},
                                                    {jobs::Phase::compile, "compile"},
                                                    {jobs::Phase::train, "train"},
                                                    {jobs::Phase::checkpoint, "checkpoint"},
                                                    {jobs::Phase::evaluate, "evaluate"},
                                                    {jobs::Phase::load, "load"}}};
inline constexpr WordTable<jobs::Edge, 2> kEdges{{{jobs::Edge::begin, "begin"}, {jobs::Edge::end, "end"}}};
inline constexpr WordTable<jobs::CountSource, 3> kCountSources{
    {{jobs::CountSource::ras, "ras"},
     {jobs::CountSource::flight_recorder, "flight_recorder"},
     {jobs::CountSource::inspector, "inspector"}}};
inline constexpr WordTable<jobs::AnswerStatus, 3> kAnswerStatuses{
    {{jobs::AnswerStatus::timeout, "timeout"},
     {jobs::AnswerStatus::refused, "refused"},
     {jobs::AnswerStatus::malformed, "malformed"}}};
inline constexpr WordTable<bool, 2> kLinkEdges{{{false, "down"}, {true, "up"}}};
inline constexpr WordTable<bool, 2> kNodeStates{{{true, "lost"}, {false, "back"}}};
inline constexpr WordTable<Health, 4> kHealths{{{Health::healthy, "healthy"},
                                                {Health::degraded, "degraded"},
                                                {Health::failed, "failed"},
                                                {Health::unknown, "unknown"}}};
inline constexpr WordTable<jobs::PodReason, 4> kPodReasons{
    {{jobs::PodReason::evicted, "evicted"},
     {jobs::PodReason::preempted, "preempted"},
     {jobs::PodReason::deleted, "deleted"},
     {jobs::PodReason::node_shutdown, "node_shutdown"}}};
inline constexpr WordTable<jobs::ValidationVerdict, 3> kValidationVerdicts{
    {{jobs::ValidationVerdict::passed, "passed"},
     {jobs::ValidationVerdict::failed, "failed"},
     {jobs::ValidationVerdict::unknown, "unknown"}}};
inline constexpr WordTable<jobs::ValidationDepth, 4> kValidationDepths{
    {{jobs::ValidationDepth::passive, "passive"},
     {jobs::ValidationDepth::quick, "quick"},
     {jobs::ValidationDepth::deep, "deep"},
     {jobs::ValidationDepth::pair, "pair"}}};
inline constexpr WordTable<jobs::Effect, 4> kFaultEffects{{{jobs::Effect::slow, "slow"},
                                                           {jobs::Effect::hang, "hang"},
                                                           {jobs::Effect::crash, "crash"},
                                                           {jobs::Effect::none, "none"}}};

// The smallest value of a metric; the largest is MetricInfo::max.
[[nodiscard]] constexpr double min_of(const jobs::MetricInfo& metric) {
  constexpr double coldest_c = -100;
  return metric.name.ends_with("_c") ? coldest_c : 0;
}

inline constexpr std::array<std::string_view, 4> kKeyColumns{"index", "job", "rank", "nic"};

// Columns that name the rows of a table; none for the host, which has one row.
[[nodiscard]] constexpr std::span<const std::string_view> key_columns(jobs::Table table) {
  const std::span names(kKeyColumns);
  switch (table) {
    case jobs::Table::gpu:
      return names.subspan(0, 1);
    case jobs::Table::process:
      return names.subspan(1, 2);
    case jobs::Table::nic:
      return names.subspan(3, 1);
    case jobs::Table::host:
      break;
  }
  return {};
}

}  // namespace autopilot::api::job_format
