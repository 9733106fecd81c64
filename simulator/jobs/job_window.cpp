// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/job_window.hpp"

#include <algorithm>

namespace autopilot::simulated_jobs {
namespace {

constexpr float kEvaluating = 0.75F;  // share of an evaluation in which a GPU computes

float overlap(double a_begin, double a_end, double b_begin, double b_end) {
  return static_cast<float>(std::max(0.0, std::min(a_end, b_end) - std::max(a_begin, b_begin)));
}

float* field_of(JobWindow& window, Activity activity) {
  switch (activity) {
    case Activity::startup:
      return &window.startup;
    case Activity::compile:
      return &window.compile;
    case Activity::train:
      return &window.train;
    case Activity::checkpoint:
      return &window.checkpoint;
    case Activity::evaluate:
      return &window.evaluate;
    case Activity::load:
      return &window.load;
    case Activity::hang:
      return &window.hang;
    case Activity::dead:
      return &window.dead;
    case Activity::serve:
      return &window.serve;
  }
  return &window.dead;
}

}  // namespace

JobWindow make_job_window(const JobRun& job, double from) {
  JobWindow window;
  window.job = &job;
  window.from = from;
  for (const Slice& slice : job.slices()) {
    *field_of(window, slice.activity) += overlap(slice.begin, slice.end, from, from + kWindow);
    if (slice.activity != Activity::train || slice.communication <= 0) continue;
    const float communication = overlap(slice.begin + slice.slowest, slice.end, from, from + kWindow);
    window.communication += communication;
    window.transfer += communication * static_cast<float>(slice.transfer / slice.communication);
  }
  return window;
}

RankSplit split(const JobWindow& window, int rank, Pcg& random) {
  const RankRun& run = window.job->ranks()[static_cast<std::size_t>(rank)];
  const auto deviation = static_cast<float>(window.job->plan().own_noise);
  const double from = window.from;
  const double to = from + kWindow;
  const float slowness = run.slowness();
  const double healthy = static_cast<double>(run.healthy);
  RankSplit result;
  float own_seconds = 0;
  float waits = 0;
  for (const Slice& slice : window.job->slices()) {
    if (slice.activity != Activity::train || slice.end <= from || slice.begin >= to) continue;
    const double pause = slice.paused_rank == rank ? slice.pause : 0;
    const double drawn =
        slice.work * healthy * static_cast<double>(slowness * (1 + deviation * random.noise()));
    const double arrives = slice.begin + std::min(slice.slowest, pause + drawn);
    const double reaches = std::min(arrives, slice.end);
    result.idle += overlap(slice.begin, std::min(reaches, slice.begin + pause), from, to);
    own_seconds += overlap(slice.begin + pause, reaches, from, to);
    waits += overlap(arrives, std::min(slice.end, slice.begin + slice.slowest), from, to);
  }
  result.busy = own_seconds / (run.clock * slowness);
  result.spin = waits + own_seconds * run.spin / slowness;
  result.idle += own_seconds * run.idle / slowness;
  result.work = own_seconds / slowness;
  result.communication = window.communication;
  result.busy += window.evaluate * kEvaluating;
  result.idle += window.evaluate * (1 - kEvaluating) + window.startup + window.compile + window.checkpoint +
                 window.load + window.dead;
  if (window.hang > 0) (run.role == HangRole::spins ? result.spin : result.idle) += window.hang;
  if (window.serve > 0) {
    const float computes = run.is_hung ? 0 : run.load * run.replica_clock / run.clock;
    const float answers = run.is_hung ? 1 : run.load;
    result.busy += window.serve * std::min(1.0F, computes);
    result.spin += window.serve * std::max(0.0F, answers - computes);
    result.idle += window.serve * (1 - std::max(answers, std::min(1.0F, computes)));
    result.work += window.serve * std::min(1.0F, computes);
  }
  return result;
}

std::array<float, static_cast<std::size_t>(kWindow)> power_by_second(const JobWindow& window, float own,
                                                                     const PowerLevels& levels) {
  std::array<float, static_cast<std::size_t>(kWindow)> watts{};
  const double end = window.from + kWindow;
  const auto add = [&](double begin, double stop, float level) {
    begin = std::max(begin, window.from);
    stop = std::min(stop, end);
    while (begin < stop) {
      const auto second = std::min(watts.size() - 1, static_cast<std::size_t>(begin - window.from));
      const double next = std::min(stop, window.from + static_cast<double>(second + 1));
      watts[second] += level * static_cast<float>(next - begin);
      if (next <= begin) break;
      begin = next;
    }
  };
  for (const Slice& slice : window.job->slices()) {
    switch (slice.activity) {
      case Activity::train: {
        const double busy_until =
            std::min(slice.end, slice.begin + std::min(slice.slowest, slice.work * static_cast<double>(own)));
        add(slice.begin, busy_until, levels.busy);
        add(busy_until, slice.end, levels.spin);
        break;
      }
      case Activity::evaluate:
        add(slice.begin, slice.end, levels.idle + (levels.busy - levels.idle) * kEvaluating);
        break;
      case Activity::serve:
        add(slice.begin, slice.end, levels.serve);
        break;
      default:
        add(slice.begin, slice.end, slice.activity == Activity::hang ? levels.hang : levels.idle);
    }
  }
  return watts;
}

}  // namespace autopilot::simulated_jobs
