// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/stall.hpp"

#include <chrono>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace autopilot::jobs {
namespace {

using std::chrono::seconds;

constexpr WallTime kBegin{seconds(1767225600)};

// A job that made progress for 10 minutes, then stops.
class StalledJob {
 public:
  explicit StalledJob(double soft_timeout_s = 60) {
    signs_.has_first_step = true;
    signs_.soft_timeout_s = soft_timeout_s;
    signs_.quiet_share = 0;
    signs_.fabric_bytes_s = 2e11;
    signs_.storage_bytes_s = 1e7;
    signs_.process_bytes_s = 1e6;
    signs_.collectives_frozen = false;
    for (int i = 0; i < 60; ++i)
      step(10, true);
  }

  // Time passes; `change` sets the signs of the stall.
  const StallStatus& stall(int for_s, const std::function<void(StallSigns&)>& change) {
    change(signs_);
    for (int passed = 0; passed < for_s; passed += 10) {
      step(10, false);
      if (detector.status().suspected && suspected_after_s < 0) suspected_after_s = age_s_;
      if (detector.status().confirmed && confirmed_after_s < 0) confirmed_after_s = age_s_;
    }
    return detector.status();
  }
  const StallStatus& recover() {
    step(10, true);
    return detector.status();
  }

  StallDetector detector;
  double suspected_after_s = -1;
  double confirmed_after_s = -1;

 private:
  void step(int length_s, bool makes_progress) {
    now_ += seconds(length_s);
    age_s_ = makes_progress ? 2 : age_s_ + length_s;
    signs_.progress_age_s = age_s_;
    signs_.now = now_;
    detector.add(signs_);
  }

  StallSigns signs_;
  WallTime now_ = kBegin;
  double age_s_ = 0;
};

void forget_everything(StallSigns& signs) {
  signs.quiet_share = signs.fabric_bytes_s = signs.storage_bytes_s = signs.process_bytes_s = std::nullopt;
  signs.collectives_frozen = std::nullopt;
}

TEST(Stall, a_frozen_communicator_is_confirmed_within_three_minutes) {
  StalledJob job;
  const StallStatus& status = job.stall(300, [](StallSigns& signs) {
    forget_everything(signs);
    signs.collectives_frozen = true;
  });
  EXPECT_EQ(status.state, StallState::confirmed);
  EXPECT_LE(job.suspected_after_s, 90);
  EXPECT_LE(job.confirmed_after_s, 180);
  ASSERT_EQ(status.signs.size(), 1U);
  EXPECT_EQ(status.signs[0], StallSign::collectives_frozen);
  EXPECT_EQ(*status.confirmed - *status.suspected, seconds(60));
}

TEST(Stall, telemetry_alone_confirms_within_five_minutes) {
  StalledJob both;
  both.stall(600, [](StallSigns& signs) {
    forget_everything(signs);
    signs.storage_bytes_s = 1e7;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 1e4;
  });
  EXPECT_LE(both.confirmed_after_s, 180);
  EXPECT_GT(both.confirmed_after_s, 0);
  StalledJob gpus;
  gpus.stall(600, [](StallSigns& signs) {
    forget_everything(signs);
    signs.quiet_share = 0.98;
  });
  EXPECT_LE(gpus.confirmed_after_s, 300);
  EXPECT_GT(gpus.confirmed_after_s, 180);
}

TEST(Stall, the_age_of_progress_alone_never_confirms) {
  StalledJob job;
  const StallStatus& status = job.stall(7200, forget_everything);
  EXPECT_EQ(status.state, StallState::suspected);
  EXPECT_FALSE(status.confirmed);
}

TEST(Stall, sleeping_processes_alone_never_confirm) {
  StalledJob job;
  const StallStatus& status = job.stall(3600, [](StallSigns& signs) {
    forget_everything(signs);
    signs.ranks_in_disk_sleep = 3;
  });
  EXPECT_EQ(status.state, StallState::suspected);
  EXPECT_EQ(status.signs.size(), 1U);
}

TEST(Stall, processes_that_all_sleep_confirm_where_no_gpu_is_known) {
  const auto confirmed_after = [](std::optional<double> bytes_s, int awake) {
    StalledJob job;
    job.stall(600, [&](StallSigns& signs) {
      forget_everything(signs);
      signs.storage_bytes_s = bytes_s;
      signs.ranks = 8;
      signs.asleep_share = 1 - awake / 8.0;
    });
    return job.confirmed_after_s;
  };
  EXPECT_GT(confirmed_after(1e6, 0), 60);
  EXPECT_LE(confirmed_after(1e6, 0), 180);
  EXPECT_GT(confirmed_after(std::nullopt, 0), 180);
  EXPECT_LE(confirmed_after(std::nullopt, 0), 300);
  EXPECT_GT(confirmed_after(1e6, 1), 0);
  EXPECT_EQ(confirmed_after(1e6, 2), -1) << "two ranks work";
}

// One rank of a job without GPUs may save or evaluate alone.
TEST(Stall, a_process_that_works_alone_has_the_time_of_an_evaluation) {
  StalledJob job;
  const auto alone = [](StallSigns& signs) {
    forget_everything(signs);
    signs.storage_bytes_s = 1e6;
    signs.ranks = 8;
    signs.asleep_share = 7 / 8.0;
    signs.working_share = 1 / 8.0;
  };
  EXPECT_EQ(job.stall(1190, alone).state, StallState::running);
  EXPECT_EQ(job.detector.status().guard, StallGuard::host);
  EXPECT_TRUE(job.detector.status().is_gap_explained);
  EXPECT_EQ(job.stall(120, alone).state, StallState::confirmed);
}

TEST(Stall, processes_that_work_do_not_end_a_confirmed_hang) {
  StalledJob job;
  job.stall(300, [](StallSigns& signs) {
    signs.gpus = signs.ranks = 8;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 0;
    signs.collectives_frozen = true;
    signs.asleep_share = signs.working_share = 0;
  });
  EXPECT_EQ(job.stall(60, [](StallSigns& signs) { signs.working_share = 1; }).state, StallState::confirmed);
}

TEST(Stall, a_compilation_between_steps_is_not_a_hang) {
  StalledJob job;
  const StallStatus& status = job.stall(1100, [](StallSigns& signs) {
    signs.gpus = signs.ranks = 8;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 0;
    signs.collectives_frozen = true;
    signs.asleep_share = 0;
    signs.working_share = 1;
  });
  EXPECT_EQ(status.state, StallState::running);
  EXPECT_EQ(status.guard, StallGuard::host);
}

TEST(Stall, a_checkpoint_shows_in_the_bytes_of_processes_alone) {
  StalledJob job;
  const StallStatus& status = job.stall(500, [](StallSigns& signs) {
    signs.storage_bytes_s = std::nullopt;
    signs.process_bytes_s = 5e9;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 0;
  });
  EXPECT_EQ(status.guard, StallGuard::storage);
  EXPECT_EQ(status.state, StallState::running);
}

TEST(Stall, a_stopped_process_confirms_where_no_gpu_is_known) {
  StalledJob job;
  const StallStatus& status = job.stall(150, [](StallSigns& signs) {
    forget_everything(signs);
    signs.ranks_stopped = 1;
  });
  EXPECT_EQ(status.state, StallState::confirmed);
}

// Where no source states steps, a job never leaves its start.
TEST(Stall, a_process_that_stops_before_the_first_step_is_confirmed_within_five_minutes) {
  StallDetector detector;
  StallSigns signs{.quiet_share = 0.5, .gpus = 8};
  const auto pass = [&](int until_s) {
    for (; signs.since_start_s.value_or(0) < until_s; *signs.since_start_s += 10) {
      signs.now += seconds(10);
      detector.add(signs);
    }
    return detector.status().state;
  };
  signs.since_start_s = 0;
  EXPECT_EQ(pass(1000), StallState::starting);
  signs.quiet_share = 1;
  signs.ranks_stopped = 1;
  EXPECT_EQ(pass(1100), StallState::starting) << "a pause of a debugger";
  EXPECT_EQ(pass(1300), StallState::confirmed);
  signs.ranks_stopped = 0;
  EXPECT_EQ(pass(1400), StallState::starting);
}

TEST(Stall, gpus_that_compute_contradict_a_stopped_process) {
  StalledJob job;
  EXPECT_EQ(job.stall(3600, [](StallSigns& signs) { signs.ranks_stopped = 1; }).state, StallState::running);
}

TEST(Stall, gpus_that_compute_contradict_a_silent_log) {
  StalledJob job;
  EXPECT_EQ(job.stall(3600, [](StallSigns&) {}).state, StallState::running);
}

// An evaluation computes without collectives.
TEST(Stall, gpus_that_compute_outweigh_frozen_counts) {
  StalledJob job;
  const StallStatus& status = job.stall(3600, [](StallSigns& signs) {
    signs.collectives_frozen = true;
    signs.fabric_bytes_s = std::nullopt;
  });
  EXPECT_EQ(status.state, StallState::running);
  EXPECT_TRUE(status.is_gap_explained);
  EXPECT_FALSE(job.recover().is_gap_explained);
}

TEST(Stall, one_gpu_that_computes_while_all_others_wait_does_not_hide_a_stall) {
  const auto confirmed_with = [](int computing) {
    StalledJob job;
    return job
        .stall(600,
               [&](StallSigns& signs) {
                 forget_everything(signs);
                 signs.gpus = 8;
                 signs.quiet_share = 1 - computing / 8.0;
               })
        .confirmed.has_value();
  };
  EXPECT_TRUE(confirmed_with(1));
  EXPECT_FALSE(confirmed_with(2));
}

TEST(Stall, progress_ends_a_stall) {
  StalledJob job;
  job.stall(300, [](StallSigns& signs) {
    forget_everything(signs);
    signs.collectives_frozen = true;
  });
  const StallStatus& status = job.recover();
  EXPECT_EQ(status.state, StallState::running);
  EXPECT_FALSE(status.suspected || status.confirmed || status.last_progress);
}

TEST(Stall, the_last_progress_is_the_onset) {
  StalledJob job;
  const StallStatus& status = job.stall(300, [](StallSigns& signs) { signs.quiet_share = 1; });
  EXPECT_EQ(*status.last_progress, kBegin + seconds(598));
}

TEST(Stall, a_guarded_phase_has_its_own_limit_and_a_hang_in_it_is_found) {
  StalledJob job;
  const auto checkpoint = [](StallSigns& signs) {
    signs.phase = Phase::checkpoint;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 0;
  };
  const StallStatus& status = job.stall(890, checkpoint);
  EXPECT_EQ(status.state, StallState::running);
  EXPECT_EQ(status.guard, StallGuard::phase);
  EXPECT_EQ(job.stall(120, checkpoint).state, StallState::confirmed);
  StalledJob learned;
  learned.stall(600, [&](StallSigns& signs) {
    checkpoint(signs);
    signs.phase_timeout_s = 120;
  });
  EXPECT_LE(learned.confirmed_after_s, 210);
}

TEST(Stall, an_unresponsive_rank_ends_the_guard_of_a_phase) {
  StalledJob job;
  job.stall(600, [](StallSigns& signs) {
    signs.phase = Phase::evaluate;
    signs.ranks_unresponsive = 1;
  });
  EXPECT_LE(job.confirmed_after_s, 180);
  EXPECT_GT(job.confirmed_after_s, 0);
}

TEST(Stall, a_checkpoint_without_a_record_shows_in_storage_traffic) {
  StalledJob job;
  const auto write = [](StallSigns& signs) {
    signs.storage_bytes_s = 5e9;
    signs.quiet_share = 1;
    signs.fabric_bytes_s = 0;
  };
  EXPECT_EQ(job.stall(500, write).guard, StallGuard::storage);
  EXPECT_EQ(job.detector.status().state, StallState::running);
  EXPECT_TRUE(job.detector.status().is_gap_explained);
}

TEST(Stall, before_the_first_step_the_job_has_forty_minutes) {
  StallDetector detector;
  StallSigns signs;
  signs.quiet_share = 1;
  for (int age = 0; age <= 2400; age += 10) {
    signs.now = kBegin + seconds(age);
    signs.since_start_s = age;
    EXPECT_EQ(detector.add(signs).state, StallState::starting);
  }
  for (int age = 2410; age <= 2600; age += 10) {
    signs.now = kBegin + seconds(age);
    signs.since_start_s = age;
    detector.add(signs);
  }
  EXPECT_EQ(detector.status().state, StallState::confirmed);
}

TEST(Stall, a_short_loss_of_telemetry_does_not_restart_the_confirmation) {
  StalledJob job;
  const auto frozen = [](StallSigns& signs) {
    forget_everything(signs);
    signs.collectives_frozen = true;
  };
  job.stall(110, frozen);
  EXPECT_EQ(job.detector.status().state, StallState::suspected);
  job.stall(20, forget_everything);
  job.stall(10, frozen);
  EXPECT_EQ(job.detector.status().state, StallState::confirmed);
  StalledJob other;
  other.stall(110, frozen);
  other.stall(60, forget_everything);
  other.stall(10, frozen);
  EXPECT_EQ(other.detector.status().state, StallState::suspected);
}

TEST(Stall, without_a_source_of_progress_the_state_is_unknown) {
  StallDetector detector;
  StallSigns signs;
  signs.has_first_step = true;
  signs.quiet_share = 1;
  signs.fabric_bytes_s = std::nan("");
  for (int i = 0; i < 500; ++i) {
    signs.now = kBegin + seconds(10 * i);
    EXPECT_EQ(detector.add(signs).state, StallState::unknown);
  }
  signs.progress_age_s = std::nan("");
  signs.now += seconds(10);
  EXPECT_EQ(detector.add(signs).state, StallState::unknown);
}

TEST(Stall, signs_out_of_order_and_a_restart) {
  StalledJob job;
  job.stall(300, [](StallSigns& signs) {
    forget_everything(signs);
    signs.collectives_frozen = true;
  });
  StallSigns old;
  old.now = kBegin;
  old.has_first_step = true;
  old.progress_age_s = 1;
  EXPECT_EQ(job.detector.add(old).state, StallState::confirmed);
  job.detector.restart();
  EXPECT_EQ(job.detector.status().state, StallState::unknown);
}

TEST(OwnHistory, holds_a_limited_number_of_values) {
  OwnHistory history;
  EXPECT_EQ(history.median(), std::nullopt);
  for (std::size_t i = 0; i < OwnHistory::kMaxValues; ++i)
    history.add(1);
  history.add(std::nanf(""));
  EXPECT_DOUBLE_EQ(*history.median(), 1);
  for (std::size_t i = 0; i < OwnHistory::kMaxValues; ++i)
    history.add(5);
  EXPECT_DOUBLE_EQ(*history.median(), 5) << "older values are forgotten";
}

}  // namespace
}  // namespace autopilot::jobs
