// SPDX-License-Identifier: Apache-2.0
// A cluster with one node: an API server, a scheduler that knows late, a controller of Jobs and a kubelet;
// pods that come when they like; agents that are killed between any two writes, lose answers, know the node
// late and in the wrong order, or are two. Whatever happens: no test beside somebody who holds an
// accelerator, no reservation beyond its expiry, each result taken once, and nothing left behind.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "diagnostics/cluster/reservation.hpp"
#include "tests/support/diagnostics/deep_test_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using std::chrono::seconds;
using Kind = DeepTestStep::Kind;
using Times = DeepTestTimes;

constexpr int kGpus = 8;

// How much goes wrong, in thousandths: of messages, or per second.
struct Trouble {
  int lost_requests = 0;
  int lost_answers = 0;
  int slow_requests = 0;  // arrive after their sender has given up, or died
  int crashes = 0;        // per second: the agent comes back within 20 s
  int old_news = 0;       // per second: an agent is told of the node as it was
  int pods = 0;           // per second: somebody wants accelerators
  int claims = 0;         // of these: by a ResourceClaim, which the scheduler does not count
  int bad_images = 0;     // of tests: they never begin
  int hangs = 0;          // of tests: they never end
  int evictions = 0;      // per second: a test's pod is taken away
  int stuck_pods = 0;     // of tests' pods that are to end: they take 15 minutes for it
  int meddlers = 0;       // per second: somebody takes the taint, the annotation or both away
  int leave = 0;          // per second: the controller gives leave to who asks; 0: there is none
};

struct Pod {
  std::string name;
  std::string job;  // empty: somebody's
  int gpus = 0;
  bool has_claim = false;
  seconds bound{-1};  // no node yet
  seconds starts{};   // what is bound
  seconds ends{};
  seconds gone{-1};  // being deleted
  bool is_running = false;
  bool is_over = false;
  bool is_good = false;  // it ended by itself
};

struct Job {
  std::string name;
  std::string uid;
  seconds created{};
  seconds deadline{};
  bool has_pod = false;
  bool is_deleting = false;
  seconds over{-1};
  bool is_complete = false;
};

class Agent;

class Cluster {
 public:
  Cluster(std::uint64_t seed, Trouble trouble, int agents = 1);

  void run(seconds length);
  void calm_down() { trouble_ = {}; }
  void stop_testing() { every_ = 0s; }
  // Kills the agent at that write, counted from 1: before the server sees it, or before the answer comes.
  void kill_at(int write, bool is_before) { kill_at_ = write, kills_before_ = is_before; }

  [[nodiscard]] bool has_controller() const { return has_controller_; }
  bool happens(int thousandths) { return below(1000) < thousandths; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  void later(seconds delay, std::function<void()> event) { events_.emplace(now_ + delay, std::move(event)); }
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }
  [[nodiscard]] WallTime now() const { return kBegin + now_; }
  [[nodiscard]] seconds every() const { return every_; }
  [[nodiscard]] const kube::Node& node() const { return history_.back(); }
  [[nodiscard]] const kube::Node& old_node() {
    return history_[static_cast<std::size_t>(below(static_cast<int>(history_.size())))];
  }
  [[nodiscard]] DeepTestSight jobs(DeepTestSight sight);
  [[nodiscard]] DeepTestSight pods(DeepTestSight sight) const;
  bool write(const DeepTestStep& step);

  // What is asserted of it.
  [[nodiscard]] int taken() const { return static_cast<int>(taken_.size()); }
  [[nodiscard]] int ended_well() const { return ended_well_; }
  [[nodiscard]] int writes() const { return writes_; }
  [[nodiscard]] int most_looks() const { return most_looks_; }
  [[nodiscard]] DeepTestRecord record() const { return deep_test_record(node(), "autopilot.ibm.com"); }
  void expect_nothing_left() const;

 private:
  void tick();
  void schedule(Pod& pod);
  void live(Pod& pod);
  void control(Job& job);
  void remove_pod(Pod& pod) {
    if (pod.gone >= 0s) return;
    const bool is_stuck = !pod.job.empty() && happens(trouble_.stuck_pods);
    pod.gone = now_ + (is_stuck ? 15min : seconds(1 + below(10)));
  }
  void meddle();
  void give_leave();
  void changed(bool was_reserved);
  bool patch(const DeepTestStep& step);
  bool create(const DeepTestStep& step);
  void check();

  std::mt19937_64 random_;
  Trouble trouble_;
  seconds now_{0};
  seconds every_ = 20min;
  json::object node_ = node_object();
  std::vector<kube::Node> history_{node_of(node_)};  // each as it was told
  TestingMarks marks_;
  seconds taint_changed_{-100};
  std::vector<Pod> pods_;
  std::vector<Job> jobs_;
  int numbers_ = 0;
  std::multimap<seconds, std::function<void()>> events_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::set<std::string> taken_;
  int ended_well_ = 0;
  int writes_ = 0;
  std::vector<seconds> looks_;
  int most_looks_ = 0;  // in a minute
  int kill_at_ = 0;
  bool kills_before_ = false;
  bool had_meddlers_ = false;
  bool has_controller_ = false;
};

class Agent {
 public:
  explicit Agent(Cluster& cluster) : cluster_(cluster) { start(); }

  void kill(seconds until) {
    ++life_;
    dead_until_ = cluster_.now() + until;
  }
  void know(const kube::Node& node) {
    if (!is_dead()) node_ = node;
  }
  void tick() {
    if (is_dead()) return;
    if (born_ != life_) start();
    if (!node_ || is_busy_) return;
    const DeepTestWorld world{.node = *node_,
                              .sight = sight_,
                              .looked = looked_,
                              .can_look = can_look_,
                              .may_have_strays = may_have_strays_,
                              .is_wanted = false,
                              .watched_since = started_};
    DeepTestPolicy policy = deep_test_policy();
    policy.every = cluster_.every();
    policy.asks_controller = cluster_.has_controller();
    const DeepTestStep step = next_step(world, policy, cluster_.now());
    if (step.kind == Kind::look) return look();
    if (step.kind != Kind::wait) send(step);
  }
  [[nodiscard]] bool is_dead() const { return cluster_.now() < dead_until_; }

 private:
  void start() {
    born_ = life_;
    is_busy_ = false;
    can_look_ = true;
    may_have_strays_ = true;
    sight_.reset();
    looked_.reset();
    node_.reset();
    started_ = kBegin - 1h;
    const int life = life_;
    cluster_.later(2s, [this, life] {
      if (life == life_) know(cluster_.node());
    });
  }
  // The request takes its way, or not; the first report counts, and none after a death.
  void exchange(const std::function<void(std::function<void(std::function<void()>)>)>& at_server,
                const std::function<void()>& on_failure) {
    is_busy_ = true;
    const int life = life_;
    const int flight = ++flight_;
    const auto report = [this, life, flight](const std::function<void()>& what) {
      if (life != life_ || flight != flight_) return;
      ++flight_;
      is_busy_ = false;
      what();
    };
    cluster_.later(15s, [report, on_failure] { report(on_failure); });
    const Trouble& trouble = cluster_.trouble();
    if (cluster_.happens(trouble.lost_requests)) return;
    const bool has_answer = !cluster_.happens(trouble.lost_answers);
    const seconds way{cluster_.happens(trouble.slow_requests) ? cluster_.below(60) : cluster_.below(2)};
    cluster_.later(way, [this, at_server, report, has_answer] {
      at_server([this, report, has_answer](const std::function<void()>& what) {
        if (has_answer) cluster_.later(seconds(cluster_.below(2)), [report, what] { report(what); });
      });
    });
  }
  void look() {
    DeepTestSight sight;
    sight.asked = cluster_.now();
    looked_ = sight.asked;
    exchange(
        [this, sight](const std::function<void(std::function<void()>)>& answer) {
          const DeepTestSight with_jobs = cluster_.jobs(sight);
          cluster_.later(1s, [this, with_jobs, answer] {
            const DeepTestSight all = cluster_.pods(with_jobs);
            answer([this, all] {
              sight_ = all;
              can_look_ = true;
              const auto is_over = [](const kube::Job& job) { return job.is_over(); };
              may_have_strays_ = !std::ranges::all_of(all.jobs, is_over);
            });
          });
        },
        [this] { can_look_ = false; });
  }
  void send(const DeepTestStep& step) {
    sight_.reset();
    may_have_strays_ = may_have_strays_ || step.kind == Kind::create_job;
    exchange(
        [this, step](const std::function<void(std::function<void()>)>& answer) {
          const bool is_done = cluster_.write(step);
          const kube::Node node = cluster_.node();
          answer([this, is_done, node] {
            if (is_done) know(node);
          });
        },
        [] {});
  }

  Cluster& cluster_;
  int life_ = 0;
  int born_ = 0;
  int flight_ = 0;
  bool is_busy_ = false;
  bool can_look_ = true;
  bool may_have_strays_ = true;
  WallTime dead_until_{};
  WallTime started_{};
  std::optional<kube::Node> node_;
  std::optional<DeepTestSight> sight_;
  std::optional<WallTime> looked_;
};

Cluster::Cluster(std::uint64_t seed, Trouble trouble, int agents)
    : random_(seed), trouble_(trouble), has_controller_(trouble.leave > 0) {
  for (int i = 0; i < agents; ++i)
    agents_.push_back(std::make_unique<Agent>(*this));
}

void Cluster::run(seconds length) {
  for (const seconds end = now_ + length; now_ < end; ++now_) {
    tick();
    if (::testing::Test::HasFailure()) return;
  }
}

void Cluster::tick() {
  while (!events_.empty() && events_.begin()->first <= now_)
    events_.extract(events_.begin()).mapped()();
  if (happens(trouble_.pods)) {
    const bool has_claim = happens(trouble_.claims);
    pods_.push_back({.name = "train-" + std::to_string(++numbers_),
                     .job = {},
                     .gpus = has_claim ? 0 : 1 + below(kGpus),
                     .has_claim = has_claim});
  }
  for (Pod& pod : pods_) {
    if (pod.bound < 0s && pod.gone < 0s) schedule(pod);
    live(pod);
  }
  std::erase_if(pods_, [&](const Pod& pod) { return pod.gone >= 0s && now_ >= pod.gone; });
  for (Job& job : jobs_)
    control(job);
  std::erase_if(jobs_, [&](const Job& job) {
    const bool has_pod = std::ranges::any_of(pods_, [&](const Pod& pod) { return pod.job == job.name; });
    return (job.is_deleting && !has_pod) || (job.over >= 0s && now_ - job.over > 600s);
  });
  if (happens(trouble_.meddlers)) meddle();
  if (happens(trouble_.leave)) give_leave();
  for (const auto& agent : agents_) {
    if (!agent->is_dead() && happens(trouble_.crashes)) agent->kill(seconds(1 + below(20)));
    if (happens(trouble_.old_news)) agent->know(old_node());
    if (happens(300)) agent->know(node());
    agent->tick();
  }
  check();
}

// It counts GPUs exactly, knows claims nothing of, and taints two seconds late.
void Cluster::schedule(Pod& pod) {
  const bool is_kept = (now_ - taint_changed_ > 2s) == marks_.any();
  if (pod.job.empty() && is_kept) return;
  int used = 0;
  for (const Pod& other : pods_)
    if (other.bound >= 0s && !other.is_over) used += other.gpus;
  if (used + pod.gpus > kGpus) return;
  pod.bound = now_;
  pod.starts = now_ + seconds(1 + below(20));
  pod.ends = pod.starts + seconds(10 + below(pod.job.empty() ? 50 : 280));
  if (pod.job.empty()) return;
  if (happens(trouble_.bad_images)) pod.starts = 24h;
  if (happens(trouble_.hangs)) pod.ends = 24h;
}

void Cluster::live(Pod& pod) {
  if (pod.bound < 0s || pod.is_over) return;
  if (!pod.is_running && pod.gone < 0s && now_ >= pod.starts) pod.is_running = true;
  if (pod.is_running && now_ >= pod.ends) {
    pod.is_running = false;
    pod.is_over = true;
    pod.is_good = pod.gone < 0s;
    if (!pod.job.empty() && pod.is_good) ++ended_well_;
  }
  if (!pod.job.empty() && happens(trouble_.evictions)) remove_pod(pod);
}

void Cluster::control(Job& job) {
  Pod* pod = nullptr;
  for (Pod& each : pods_)
    if (each.job == job.name) pod = &each;
  if (job.is_deleting) {
    if (pod != nullptr) remove_pod(*pod);
    return;
  }
  if (job.over >= 0s) return;
  if (!job.has_pod && now_ - job.created > seconds(below(3))) {
    job.has_pod = true;
    pods_.push_back({.name = job.name + "-x", .job = job.name, .gpus = kGpus});
    return;
  }
  if (!job.has_pod) return;
  const bool is_late = now_ - job.created >= job.deadline;
  if (pod != nullptr && is_late) remove_pod(*pod);
  const bool is_over = pod == nullptr || pod->is_over;
  if (is_over && happens(300)) {
    job.over = now_;
    job.is_complete = pod != nullptr;
  }
}

DeepTestSight Cluster::jobs(DeepTestSight sight) {
  looks_.push_back(now_);
  std::erase_if(looks_, [&](seconds look) { return now_ - look >= 60s; });
  most_looks_ = std::max(most_looks_, static_cast<int>(looks_.size()));
  for (const Job& job : jobs_) {
    kube::Job seen;
    seen.meta.name = job.name;
    seen.meta.uid = job.uid;
    seen.meta.is_deleting = job.is_deleting;
    seen.is_complete = job.over >= 0s && job.is_complete;
    seen.is_failed = job.over >= 0s && !job.is_complete;
    sight.jobs.push_back(std::move(seen));
  }
  return sight;
}

DeepTestSight Cluster::pods(DeepTestSight sight) const {
  for (const Pod& pod : pods_) {
    if (pod.bound < 0s) continue;
    kube::Pod seen;
    seen.meta.name = pod.name;
    seen.meta.name_space = pod.job.empty() ? "ml" : "autopilot";
    seen.meta.is_deleting = pod.gone >= 0s;
    seen.phase = pod.is_over ? "Succeeded" : pod.is_running ? "Running" : "Pending";
    if (!pod.job.empty()) seen.owner_kind = "Job";
    seen.owner_name = pod.job;
    if (pod.gpus > 0) seen.devices["nvidia.com/gpu"] = pod.gpus;
    if (pod.has_claim) seen.device_claims = {"gpus"};
    if (pod.is_over && pod.is_good)
      seen.ends = {{std::string(kTestContainer), 0, "Completed", std::string(kPassed)}};
    sight.pods.push_back(std::move(seen));
  }
  return sight;
}

bool Cluster::write(const DeepTestStep& step) {
  ++writes_;
  const bool is_killed = writes_ == kill_at_;
  if (is_killed) agents_.front()->kill(seconds(1 + below(20)));
  if (is_killed && kills_before_) return false;
  switch (step.kind) {
    case Kind::reserve:
      EXPECT_TRUE(!has_controller_ || test_leave(node(), "autopilot.ibm.com").granted ||
                  version_of(json::parse(step.body).as_object()) != version_of(node_))
          << "reserved without leave";
      return patch(step);
    case Kind::ask:
    case Kind::give_back:
    case Kind::release:
      return patch(step);
    case Kind::create_job:
      return create(step);
    case Kind::delete_job:
      for (Job& job : jobs_)
        if (job.name == step.name && job.uid == step.uid) job.is_deleting = true;
      return false;  // no news of the node
    case Kind::wait:
    case Kind::look:
      break;
  }
  ADD_FAILURE() << "no write";
  return false;
}

bool Cluster::patch(const DeepTestStep& step) {
  const std::string before = record().test;
  const bool was_reserved = marks_.any();
  if (!patch_node(node_, step.body)) return false;
  changed(was_reserved);
  if (record().test != before) {
    EXPECT_TRUE(taken_.insert(record().test).second) << "taken again: " << record().test;
  }
  return true;
}

void Cluster::changed(bool was_reserved) {
  history_.push_back(node_of(node_));
  marks_ = testing_marks(node(), "autopilot.ibm.com");
  if (was_reserved != marks_.any()) taint_changed_ = now_;
}

void Cluster::meddle() {
  if (!marks_.any()) return;
  had_meddlers_ = true;
  const int what = below(3);
  json::object patch{{"metadata", json::object{{"resourceVersion", version_of(node_)}}}};
  if (what != 0) patch["spec"] = json::object{{"taints", nullptr}};
  if (what != 1)
    patch["metadata"].as_object()["annotations"] = json::object{{"autopilot.ibm.com/testing", nullptr}};
  ASSERT_TRUE(patch_node(node_, json::serialize(patch)));
  changed(true);
}

void Cluster::give_leave() {
  const TestLeave leave = test_leave(node(), "autopilot.ibm.com");
  if (!leave.asked || leave.granted) return;
  const json::object may{{"autopilot.ibm.com/may-test", format_time(now())}};
  const json::object meta{{"resourceVersion", version_of(node_)}, {"annotations", may}};
  ASSERT_TRUE(patch_node(node_, json::serialize(json::object{{"metadata", meta}})));
  changed(marks_.any());
}

bool Cluster::create(const DeepTestStep& step) {
  const json::object body = json::parse(step.body).as_object();
  const std::string name(body.at("metadata").at("name").as_string());
  EXPECT_EQ(name, step.name);
  if (std::ranges::any_of(jobs_, [&](const Job& job) { return job.name == name; })) return false;
  jobs_.push_back(
      {.name = name,
       .uid = "uid-" + std::to_string(++numbers_),
       .created = now_,
       .deadline = seconds(body.at("spec").at("activeDeadlineSeconds").to_number<std::int64_t>())});
  return false;
}

void Cluster::check() {
  const auto tests = [](const Pod& pod) { return !pod.job.empty() && pod.is_running && pod.gone < 0s; };
  const auto holds = [](const Pod& pod) { return pod.job.empty() && pod.bound >= 0s && !pod.is_over; };
  if (std::ranges::any_of(pods_, tests) && std::ranges::any_of(pods_, holds))
    ADD_FAILURE() << "a test beside " << std::ranges::find_if(pods_, holds)->name << " at " << now_.count();
  if (!had_meddlers_) {
    EXPECT_EQ(marks_.has_taint, marks_.has_annotation);
  }
  if (!marks_.reservation) return;
  // An agent may be dead for 20 s, know the node late, and its requests may get lost a few times.
  const Duration bound = Times::kPatience + Times::kLook + 4min;
  EXPECT_LE(now(), marks_.reservation->until + bound) << "kept too long";
}

void Cluster::expect_nothing_left() const {
  EXPECT_FALSE(marks_.any());
  for (const Job& job : jobs_)
    EXPECT_TRUE(job.over >= 0s) << job.name << " is left";
  for (const Pod& pod : pods_)
    EXPECT_TRUE(pod.job.empty() || pod.is_over) << pod.name << " is left";
  EXPECT_FALSE(test_leave(node(), "autopilot.ibm.com").any()) << "the leave of the controller";
}

TEST(DeepTestSimulation, in_a_calm_cluster_an_idle_node_is_tested_every_time) {
  Cluster cluster(1, {});
  cluster.run(4h);
  cluster.stop_testing();
  cluster.run(20min);
  cluster.expect_nothing_left();
  EXPECT_GE(cluster.taken(), 11);
  EXPECT_EQ(cluster.taken(), cluster.ended_well());
  EXPECT_EQ(cluster.writes(), 3 * cluster.taken());  // reserve, create, release
  EXPECT_LE(cluster.most_looks(), 3);                // of two lists
}

TEST(DeepTestSimulation, killed_at_any_write_it_ends_the_same) {
  for (int write = 1; write <= 6; ++write)
    for (const bool is_before : {true, false}) {
      SCOPED_TRACE((is_before ? "before write " : "after write ") + std::to_string(write));
      Cluster cluster(static_cast<std::uint64_t>(write), {});
      cluster.kill_at(write, is_before);
      cluster.run(50min);
      cluster.stop_testing();
      cluster.run(20min);
      cluster.expect_nothing_left();
      EXPECT_GE(cluster.taken(), 2);
      EXPECT_EQ(cluster.taken(), cluster.ended_well());
      EXPECT_EQ(cluster.record().outcome, DeepTestOutcome::passed);
      if (HasFailure()) return;
    }
}

constexpr Trouble kEverything{.lost_requests = 50,
                              .lost_answers = 50,
                              .slow_requests = 30,
                              .crashes = 5,
                              .old_news = 20,
                              .pods = 10,
                              .claims = 500,
                              .bad_images = 100,
                              .hangs = 100,
                              .evictions = 1,
                              .stuck_pods = 100};

void expect_order(std::uint64_t seed, const Trouble& trouble, int agents, int& taken) {
  SCOPED_TRACE(seed);
  Cluster cluster(seed, trouble, agents);
  cluster.run(4h);
  cluster.calm_down();
  cluster.stop_testing();
  cluster.run(30min);
  cluster.expect_nothing_left();
  EXPECT_LE(cluster.taken(), cluster.ended_well());
  taken += cluster.taken();
}

TEST(DeepTestSimulation, whatever_goes_wrong_nothing_is_left_behind) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed)
    expect_order(seed, kEverything, 1, taken);
  EXPECT_GT(taken, 5);  // and now and then it tests
}

TEST(DeepTestSimulation, two_agents_for_one_node_are_as_good_as_one) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed)
    expect_order(seed, kEverything, 2, taken);
  EXPECT_GT(taken, 5);
}

// A test that nobody keeps the node for may run beside a pod with a claim, until that was seen.
TEST(DeepTestSimulation, people_who_take_the_marks_away_end_the_test) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed)
    expect_order(seed, {.crashes = 3, .old_news = 20, .pods = 2, .stuck_pods = 100, .meddlers = 2}, 1, taken);
  EXPECT_GT(taken, 5);
}

TEST(DeepTestSimulation, agents_that_die_all_the_time_lose_no_result) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 10 && !HasFailure(); ++seed)
    expect_order(seed, {.crashes = 30}, 1, taken);
  EXPECT_GT(taken, 100);
}

TEST(DeepTestSimulation, with_a_controller_no_node_is_reserved_without_its_leave_and_none_keeps_it) {
  int taken = 0;
  Trouble trouble = kEverything;
  trouble.leave = 20;
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed)
    expect_order(seed, trouble, 1, taken);
  EXPECT_GT(taken, 5);
}

}  // namespace
}  // namespace autopilot::diagnostics
