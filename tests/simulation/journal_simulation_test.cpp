// SPDX-License-Identifier: Apache-2.0
// Many lives of one agent: it finds a failed GPU, dies at any moment, on a disk that is full, read-only or
// returns errors, with a clock that jumps; then its state folder is damaged, and the next life finds no trace
// of the fault. No verdict may improve before every required check has run as often as it needs to find the
// fault again.
//
// AUTOPILOT_SIMULATION_SEEDS: number of seeds (default: 100); AUTOPILOT_SIMULATION_FIRST_SEED: the first.
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <mutex>
#include <random>

#include "agent/open_journal.hpp"
#include "core/parse.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/simulation/damage.hpp"
#include "tests/simulation/faulty_disk.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr int kRaiseRounds = 2;
constexpr Duration kPatience = 60s;

// What the machine shows; of the one agent that lives.
std::atomic<bool> is_broken{false};

Observation answer_of(std::string_view name, Instant now) {
  Observation observation;
  observation.name = std::string(name);
  observation.subject = {SubjectKind::gpu, "0000:3b:00.0", std::nullopt, "GPU-1", "1"};
  observation.value = std::int64_t{is_broken ? 1 : 0};
  observation.time = now;
  return observation;
}

Result<checks::Observed> observe(const host::Host& host, const checks::Request& /*request*/) {
  return checks::Observed{{answer_of("broken", host.clock.now())}, {"nvml"}, LogParts::none, std::nullopt, 0};
}

Findings judge(const checks::JudgeInput& input) {
  const Subject gpu = answer_of("broken", {}).subject;
  if (input.history.number(gpu, "broken").value_or(0) == 0) return {};
  Finding finding;
  finding.subject = gpu;
  finding.health = Health::failed;
  finding.reason = "broken";
  finding.message = "broken";
  finding.action = Action::replace;
  return {finding};
}

Findings judge_nothing(const checks::JudgeInput& /*input*/) {
  return {};
}

std::shared_ptr<const catalog::Catalog> facts() {
  catalog::Facts facts;
  catalog::Reason broken;
  broken.id = "broken";
  broken.action = Action::replace;
  broken.max_health = Health::failed;
  broken.confidence = 0.95;
  broken.raise_rounds = kRaiseRounds;
  broken.clear = catalog::ClearRule::acknowledged;
  facts.reasons = {broken};
  return std::make_shared<const catalog::Catalog>(std::move(facts));
}

// The same machine in all lives of a seed.
struct Node {
  std::string folder;
  std::shared_ptr<fakes::EmptyHost> empty = std::make_shared<fakes::EmptyHost>();
  config::Config config;
  agent::Machine machine;

  explicit Node(std::string state) : folder(std::move(state)) {
    config.state_dir = folder;
    machine.host = fakes::EmptyHost::share(empty);
    machine.node = "node-1";
    machine.boot_id = "11111111-2222-3333-4444-555555555555";
    machine.has_accelerator = true;
    machine.facts = facts();
    machine.checks = {{{}, observe, judge}, {{}, observe, judge_nothing}};
    machine.checks[0].info.id = "gpu.a";
    machine.checks[1].info.id = "gpu.b";
    for (checks::Check& check : machine.checks) {
      check.info.period = 30s;
      check.info.deadline = 5s;
    }
  }
};

// One process, from its start to its death.
class Life {
 public:
  explicit Life(Node& node)
      : node_(node),
        opened_(*agent::JournalOpening(node.config, node.machine, std::nullopt).take(kPatience)),
        is_complete_(opened_.remembered.lost.empty()),
        runtime_(node.machine.host, *node.machine.facts, node.machine.checks, options(), settings(),
                 outlets(), std::move(opened_.remembered)) {
    if (opened_.is_unwritten) runtime_.journal_all_again();
  }

  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() { end_writer(); }

  // Runs every check once; the result is in the journal, or cannot be written.
  void look() {
    node_.empty->clock.advance(30s);
    int left = 0;
    for (const checks::Check& check : node_.machine.checks)
      left += runtime_.run_now(check.info.id, [&left](const CheckResult&) { --left; }) ? 1 : 0;
    while (left > 0) {
      node_.empty->clock.advance(1ms);
      runtime_.poll();
      std::unique_lock lock(mutex_);
      if (left > 0) woken_.wait_for(lock, 1ms, [this] { return std::exchange(is_awake_, false); });
    }
    runtime_.poll();
    settle();
  }

  void acknowledge() {
    for (const Incident& incident : runtime_.snapshot()->incidents)
      (void)runtime_.acknowledge(incident.id, {"me", node_.empty->clock.now().wall, "seen"}, 1);
    runtime_.poll();
    settle();
  }

  void stop() {
    runtime_.stop();
    settle();
    end_writer();
  }

  [[nodiscard]] Verdict verdict() const { return runtime_.snapshot()->verdict; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

 private:
  static runtime::RuntimeSettings settings() {
    runtime::RuntimeSettings settings;
    settings.expectation.required_checks = {"gpu.a", "gpu.b"};
    return settings;
  }
  [[nodiscard]] runtime::RuntimeOptions options() const {
    runtime::RuntimeOptions options;
    options.node = node_.machine.node;
    options.boot_id = node_.machine.boot_id;
    options.has_accelerator = true;
    options.workers = {.threads = 1, .max_stuck = 1, .max_queued = 16};
    return options;
  }
  runtime::Outlets outlets() {
    runtime::Outlets outlets;
    outlets.wake = [this] {
      const std::lock_guard lock(mutex_);
      is_awake_ = true;
      woken_.notify_all();
    };
    if (opened_.writer)
      outlets.commit = [this](store::Batch batch, std::function<void(bool)> done) {
        opened_.writer->submit(std::move(batch),
                               [done = std::move(done)](const auto& ids) { done(ids.has_value()); });
      };
    return outlets;
  }
  void end_writer() {
    if (opened_.writer) (void)opened_.writer->stop(0s);
  }
  // Until all is durable, or an attempt has failed.
  void settle() {
    if (!opened_.writer) return;
    for (;;) {
      const auto status = opened_.writer->status();
      if (status.waiting == 0 || !status.problem.empty()) return;
      (void)opened_.writer->flush(1ms);
    }
  }

  Node& node_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_awake_ = false;
  agent::OpenedJournal opened_;
  bool is_complete_;
  runtime::Runtime runtime_;
};

struct Tally {
  std::uint64_t lives = 0;
  std::uint64_t held = 0;        // lives that began with an EVICT
  std::uint64_t remembered = 0;  // of these, lives that had EVICT at once
  std::uint64_t lost = 0;        // lives that knew that they may lack something
};

class Story {
 public:
  Story(std::uint64_t seed, const std::string& folder, Tally& tally)
      : random_(seed), node_(folder), folder_(folder), tally_(tally) {}

  void run() {
    constexpr int kLives = 4;
    for (int life = 0; life < kLives && !::testing::Test::HasFailure(); ++life) {
      live(life);
      older_ = std::exchange(left_, {});
      left_ = picture_;
      hurt();
    }
    set_disk_fault(DiskFault::none);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] bool happens(unsigned in_hundred) { return random_() % 100 < in_hundred; }
  void tell(const std::string& what) { text_ += what + "\n"; }

  void live(int number) {
    const bool breaks = number == 0 ? happens(80) : happens(15);
    if (happens(30)) fail_the_disk();
    Life life(node_);
    ++tally_.lives;
    if (!life.is_complete()) ++tally_.lost;
    if (!is_hurt_) EXPECT_TRUE(life.is_complete()) << "nothing was damaged";
    tell("life " + std::to_string(number) + (life.is_complete() ? "" : ", lacks something"));
    const int rounds = static_cast<int>(random_() % 6);
    const Verdict before = before_;
    for (int round = 1; round <= rounds && !::testing::Test::HasFailure(); ++round) {
      is_broken = breaks;
      life.look();
      tell("  look " + std::to_string(round) + (is_broken ? " (broken): " : ": ") +
           std::string(to_string(life.verdict())));
      expect_no_better(before, life.verdict(), round);
      if (round == 1 && before == Verdict::evict) ++tally_.held;
      if (round == 1 && before == Verdict::evict && life.verdict() == Verdict::evict) ++tally_.remembered;
      before_ = life.verdict();
      if (happens(3)) fail_the_disk();
      if (happens(5)) acknowledge(life);
    }
    if (happens(40)) {
      life.stop();
      tell("  stopped");
    } else {
      tell("  killed");
    }
    picture_ = picture_of(folder_);
    set_disk_fault(DiskFault::none);
  }

  // Without damage the verdict remains. Otherwise it does not improve before each check has run as often as
  // it needs.
  void expect_no_better(Verdict before, Verdict now, int round) {
    if (is_acknowledged_) return;
    if (before == Verdict::evict && !is_hurt_)
      EXPECT_EQ(now, Verdict::evict) << "an undamaged memory forgot";
    else if (is_bad_verdict(before) && round < kRaiseRounds)
      EXPECT_NE(now, Verdict::pass) << "better without new evidence";
  }
  static bool is_bad_verdict(Verdict verdict) {
    return verdict == Verdict::evict || verdict == Verdict::warn;
  }

  void acknowledge(Life& life) {
    life.acknowledge();
    is_acknowledged_ = true;
    tell("  acknowledged");
  }

  void fail_the_disk() {
    constexpr std::array kFaults{DiskFault::full, DiskFault::read_only, DiskFault::io_error};
    const auto fault = kFaults[random_() % kFaults.size()];
    const std::uint64_t writes = happens(50) ? 0 : random_() % 40;
    set_disk_fault(fault, writes);
    has_failed_ = true;
    is_hurt_ = true;
    tell("  the disk fails after " + std::to_string(writes) + " writes");
  }

  void hurt() {
    if (happens(80)) {
      tell(damage(picture_, older_, std::exchange(has_failed_, false), random_));
      is_hurt_ = true;
    }
    if (happens(10)) node_.empty->clock.advance(24h * 400);
    restore(picture_, folder_);
  }

  std::mt19937_64 random_;
  Node node_;
  std::string folder_;
  Tally& tally_;
  Picture picture_;
  Picture left_;
  Picture older_;
  Verdict before_ = Verdict::none;
  bool is_hurt_ = false;
  bool is_acknowledged_ = false;
  bool has_failed_ = false;  // the disk, since the last damage
  std::string text_;
};

std::uint64_t variable(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : parse_number<std::uint64_t>(text).value_or(otherwise);
}

TEST(Simulation, a_damaged_memory_never_makes_a_verdict_better) {
  install_faulty_disk();
  const std::uint64_t first = variable("AUTOPILOT_SIMULATION_FIRST_SEED", 1);
  const std::uint64_t seeds = variable("AUTOPILOT_SIMULATION_SEEDS", 100);
  Tally all;
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    const host::TestFolder folder;
    Story story(seed, folder / "state", all);
    story.run();
    if (HasFailure()) std::cout << "seed " << seed << ":\n" << story.text();
  }
  std::cout << seeds << " seeds from " << first << ": " << all.lives << " lives, " << all.lost
            << " of them knew that they may lack something; " << all.held << " began after an EVICT, "
            << all.remembered << " of them said so at once\n";
  if (seeds < 100) return;
  EXPECT_GT(all.lost, 0U);
  EXPECT_GT(all.remembered, all.held / 3) << "what can be read is read";
}

}  // namespace
}  // namespace autopilot::simulation
