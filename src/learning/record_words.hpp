// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health.hpp"
#include "core/word_table.hpp"
#include "learning/records.hpp"

// The words of docs/reference/history.md.
namespace autopilot::learning::words {

inline constexpr WordTable<JobOutcome, 5> kOutcomes{{{JobOutcome::completed, "completed"},
                                                     {JobOutcome::failed, "failed"},
                                                     {JobOutcome::stopped, "stopped"},
                                                     {JobOutcome::preempted, "preempted"},
                                                     {JobOutcome::unknown, "unknown"}}};
inline constexpr WordTable<Reason, 4> kReasons{{{Reason::job_end, "job_end"},
                                                {Reason::repair, "repair"},
                                                {Reason::schedule, "schedule"},
                                                {Reason::request, "request"}}};
inline constexpr WordTable<Depth, 4> kDepths{
    {{Depth::passive, "passive"}, {Depth::quick, "quick"}, {Depth::deep, "deep"}, {Depth::pair, "pair"}}};
inline constexpr WordTable<Verdict, 3> kVerdicts{
    {{Verdict::passed, "passed"}, {Verdict::failed, "failed"}, {Verdict::unknown, "unknown"}}};
inline constexpr WordTable<FaultClass, 5> kFaultClasses{{{FaultClass::hardware, "hardware"},
                                                         {FaultClass::network, "network"},
                                                         {FaultClass::software, "software"},
                                                         {FaultClass::application, "application"},
                                                         {FaultClass::unknown, "unknown"}}};
inline constexpr WordTable<LabelSource, 6> kLabelSources{{{LabelSource::rma, "rma"},
                                                          {LabelSource::vendor_diagnosis, "vendor_diagnosis"},
                                                          {LabelSource::repeat_test, "repeat_test"},
                                                          {LabelSource::exclusion, "exclusion"},
                                                          {LabelSource::user, "user"},
                                                          {LabelSource::agreement, "agreement"}}};
inline constexpr WordTable<LabelAnswer, 3> kLabelAnswers{
    {{LabelAnswer::faulty, "faulty"}, {LabelAnswer::healthy, "healthy"}, {LabelAnswer::unclear, "unclear"}}};
inline constexpr WordTable<Health, 5> kHealths{{{Health::healthy, "healthy"},
                                                {Health::degraded, "degraded"},
                                                {Health::failed, "failed"},
                                                {Health::unknown, "unknown"},
                                                {Health::unsupported, "unsupported"}}};

}  // namespace autopilot::learning::words
