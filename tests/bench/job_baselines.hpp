// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "job_method.hpp"

// How others find hangs and slow parts of a running job, written from their description: what the engine is
// measured against. They read the same records, and keep a finding open while their rule holds without a
// break.
//
// watchdog           no step for 10 min since the last one: a hang, without a culprit
// three_sigma        one-minute mean of SM clock or tensor activity of a GPU, further than 3 standard
//                    deviations from the mean of the job's GPUs
// single_mad         one window of 10 s of the same two, further than 3.5 scaled median absolute deviations
//                    from the median of the job's GPUs
// minimum_reference  as NVRx, whose score of a rank is the time of the fastest rank by its own, and 0.75 its
//                    threshold, each minute. Telemetry has no time of kernels: the SM clock by that of the
//                    fastest GPU of the job stands for it. It runs inside the program, so only while all GPUs
//                    run kernels
// tensor_idle        as DLRover: tensor activity of at most 0.001 on all GPUs for 10 min, after it was more,
// and
//                    no step in that time: a hang, without a culprit
// distance_sum       as Minder, without its neural network: for one metric after the other, the sum of the
//                    distances of a node to all others over 80 s; the largest is a candidate if it is 2.5
//                    standard deviations above the mean of the sums, and a finding after 4 min, each minute
namespace autopilot::jobs::bench {

// Null for another name.
[[nodiscard]] std::unique_ptr<Method> make_baseline(std::string_view name);

}  // namespace autopilot::jobs::bench
