// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check_result.hpp"
#include "core/clock.hpp"
#include "core/subject.hpp"
#include "postflight/ended_job.hpp"
#include "postflight/plan.hpp"

namespace autopilot::postflight {

// One ended job whose validation has not ended.
struct ValidationWork {
  std::uint64_t number = 0;  // in the order of their ends; a repetition gets a new one
  EndedJob job;
  JobFacts facts;
  CheckResults before;
  std::vector<Subject> gpus;
  int tries = 1;
  MonoTime ready_at{};  // passive checks begin
  bool has_begun = false;
  WallTime start{};
  MonoTime begun{};
  std::set<std::string> pending;  // passive checks without an answer
  std::vector<CheckResult> passive;
  std::optional<MonoTime> asked;  // the last time
  bool has_facts = false;
  int passed_over = 0;  // times that a later one was taken first
};

// The user that started the job, as far as its key states it: the namespace of a pod, the user of a process;
// otherwise, as for jobs of Slurm, the name of the job. Jobs with the same answer count as those of one user.
[[nodiscard]] std::string submitter_of(const EndedJob& job, std::string_view node);

// Validations that wait for their turn, and which of them is next: failed jobs first, then first tries; among
// equals the users take turns. A validation that was passed over kMostPassedOver times does not wait for
// failed jobs of other users any more. Pure.
class ValidationQueue {
 public:
  static constexpr std::size_t kMostRetries = 32;
  static constexpr int kMostPassedOver = 4;

  explicit ValidationQueue(std::string node) : node_(std::move(node)) {}

  // A first try. The caller limits how many.
  void add(ValidationWork work);
  // False: a repetition beyond kMostRetries; the oldest of them is dropped.
  [[nodiscard]] bool add_retry(ValidationWork work);
  // nullptr: it does not wait here.
  [[nodiscard]] ValidationWork* find(std::uint64_t number);
  // The next one for which `is_ready` is true. nullopt: none.
  [[nodiscard]] std::optional<ValidationWork> take(
      const std::function<bool(const ValidationWork&)>& is_ready);

  [[nodiscard]] std::deque<ValidationWork>& all() { return works_; }
  [[nodiscard]] const std::deque<ValidationWork>& all() const { return works_; }
  [[nodiscard]] std::size_t first_tries() const;
  [[nodiscard]] std::size_t first_tries_of(const EndedJob& job) const;  // of the same user

 private:
  [[nodiscard]] bool is_before(const ValidationWork& a, const ValidationWork& b) const;
  [[nodiscard]] std::uint64_t last_turn(const ValidationWork& work) const;
  void note_turn(const ValidationWork& taken, const std::function<bool(const ValidationWork&)>& is_ready);

  const std::string node_;
  std::deque<ValidationWork> works_;
  std::uint64_t turn_ = 0;
  std::map<std::string, std::uint64_t> turns_;  // the last one of each user of whom a job waits
};

}  // namespace autopilot::postflight
