// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/planner/plan.hpp"

// A cluster in virtual time, for the simulation of the planner: nodes with faults and repairs, jobs with pre-
// flight tests, agents that stop reporting, operators, and a delayed snapshot of all this. Nothing happens
// between two events, and the cost of an event depends on the changed objects.
namespace autopilot::controller::simulation {

using Seconds = std::int64_t;
inline constexpr Seconds kMinute = 60;
inline constexpr Seconds kHour = 60 * kMinute;
inline constexpr Seconds kDay = 24 * kHour;

inline constexpr std::string_view kTest = "gpu.pcie_bandwidth";
inline constexpr std::string_view kDeepTest = "gpu.diagnosis";

// Rates of events, per day and cluster of kNodes.
struct Trouble {
  double passive_faults = 8;  // visible to the agent
  double latent_faults = 4;   // visible to a test only
  double bursts = 0.15;       // one cause for a part of a pool
  double silent_agents = 8;
  double blind_checks = 4;  // a required check cannot run
  double foreign_cordons = 10;
  double meddling = 2;         // operators change our cordons and taints
  int lost_requests = 10;      // of a thousand writes
  int lost_answers = 10;       // of a thousand writes
  int deaths = 10;             // of the controller, of a thousand writes
  int refused_evictions = 50;  // of a thousand, by a PodDisruptionBudget
};

inline constexpr std::size_t kNodes = 2000;
inline constexpr std::size_t kRack = 8;

enum class Fault : std::uint8_t { none, passive, latent };

// State of a node that the API does not show, or shows late.
struct Machine {
  std::string name;
  Fault fault = Fault::none;
  std::uint32_t fault_number = 0;  // of this node: a repair applies to one fault
  int free_gpus = 8;
  bool is_foreign = false;    // cordoned by an operator
  Seconds silent_since = -1;  // of its agent
  Seconds bad_shown = -1;     // time of the last evidence against it
  Seconds proven = -1;        // time of the last passed test
};

struct Job {
  Owner owner;
  std::string pool;
  int gpus = 8;  // of each pod
  int pods = 1;
  bool is_lonely = false;  // a pod without an owner
  Seconds ends = 0;
  std::set<std::uint64_t> running;  // pods
};

class Cluster {
 public:
  Cluster(std::uint64_t seed, const Trouble& trouble);

  // Runs until that time. `act` is called after each event that a planner must process, and at the times that
  // it requested.
  template <class Act>
  void run_until(Seconds end, Act act) {
    while (!queue_.empty() && queue_.top().at <= end) {
      const Event event = queue_.top();
      queue_.pop();
      now_ = event.at;
      happen(event);
      // Simultaneous events lead to one call.
      if (!has_news_ || (!queue_.empty() && queue_.top().at == now_)) continue;
      if (now_ < acted_ + kSpacing) {
        wake(time_of(acted_ + kSpacing));
        continue;
      }
      has_news_ = false;
      acted_ = now_;
      wake_ = kNever;
      act();
    }
    now_ = end;
  }
  // Ends all faults: nodes are repaired, and operators change nothing.
  void calm_down() {
    is_calm_ = true;
    lemons_.clear();
    use_lemons();
  }
  // State before that; removed at the next call of `act`.
  void wake(WallTime at) {
    const Seconds wanted = std::max(now_ + 1, seconds_of(at));
    if (wanted >= wake_) return;
    wake_ = wanted;
    push(wanted, Kind::wake);
  }

  [[nodiscard]] WallTime time() const { return time_of(now_); }
  [[nodiscard]] Seconds now() const { return now_; }
  [[nodiscard]] static WallTime time_of(Seconds at) { return kBegin + std::chrono::seconds(at); }
  [[nodiscard]] static Seconds seconds_of(WallTime at) {
    return std::chrono::ceil<std::chrono::seconds>(at - kBegin).count();
  }
  [[nodiscard]] const World& real() const { return real_; }
  // Nodes from which an operator removed our marks since the last call.
  [[nodiscard]] std::vector<std::string> take_meddled() { return std::exchange(meddled_, {}); }
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }
  [[nodiscard]] Machine& machine(std::string_view name) { return machines_[number_of(name)]; }
  [[nodiscard]] bool is_calm() const { return is_calm_; }
  bool happens(int thousandths) { return !is_calm_ && below(1000) < thousandths; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }

  // The planner's current snapshot.
  const World& look();
  // Delivers all pending changes, as a new list does.
  void catch_up();
  // True if the controller's writes require a new plan.
  [[nodiscard]] bool has_news() const { return has_news_; }

  // Executes a write of the controller. False: refused. The snapshot shows it immediately unless `answers` is
  // false.
  bool write(const PlannedAction& action, const std::string& version, bool answers);
  void write(const LedgerEntry& entry, bool answers);
  void grant_test(const std::string& name);

 private:
  enum class Kind : std::uint8_t {
    wake,
    show_node,
    show_pod,
    show_report,
    passive_fault,
    latent_fault,
    burst,
    turn_bad,
    repair,
    silence,
    speak,
    blind,
    sicken,
    see,
    cordon_by_hand,
    uncordon_by_hand,
    meddle,
    start_job,
    place_pod,
    gate,
    end_job,
    pod_gone,
    visit,
    end_test,
    ask_test,
    want_test,
    forget_report,
    call_lemons,
  };
  struct Event {
    Seconds at = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::wake;
    std::uint64_t about = 0;
    std::uint64_t further = 0;
    friend bool operator<(const Event& a, const Event& b) {
      return std::pair(a.at, a.order) > std::pair(b.at, b.order);
    }
  };
  struct Task {  // a pod and its job
    std::uint64_t job = 0;
    std::size_t machine = 0;
    bool is_reported = false;
  };

  static constexpr WallTime kBegin{std::chrono::hours{24 * 365 * 55}};
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::max();
  static constexpr Seconds kSpacing = 10;  // shortest time between plans
  static constexpr int kLag = 20;          // longest delay of the snapshot, in seconds

  static std::size_t number_of(std::string_view name) {
    std::size_t number = 0;
    for (const char digit : name.substr(1))
      number = number * 10 + static_cast<std::size_t>(digit - '0');
    return number;
  }
  static std::string pod_uid(std::uint64_t number) { return "p" + std::to_string(number); }
  static std::string report_name(std::uint64_t number) { return "r" + std::to_string(number); }

  void push(Seconds at, Kind kind, std::uint64_t about = 0, std::uint64_t further = 0) {
    queue_.push({at, ++order_, kind, about, further});
  }
  void push_after(double mean_seconds, Kind kind) {
    std::exponential_distribution<double> wait(1 / mean_seconds);
    push(now_ + 1 + static_cast<Seconds>(wait(random_)), kind);
  }
  void push_daily(double per_day, Kind kind) {
    if (per_day > 0) push_after(static_cast<double>(kDay) / per_day, kind);
  }
  Seconds between(Seconds least, Seconds most) {
    return least + static_cast<Seconds>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  std::size_t any_machine() { return static_cast<std::size_t>(below(static_cast<int>(kNodes))); }

  template <class Change>
  void change(std::size_t number, Change what) {
    Node node = *real_.node(machines_[number].name);
    what(node);
    node.version = std::to_string(++versions_);
    real_.put(std::move(node));
    late_nodes_.insert(machines_[number].name);
    push(now_ + below(kLag), Kind::show_node, number);
  }
  void show_node(const std::string& name);
  void show_pod(const std::string& uid);
  void show_report(const std::string& name);
  void put(Pod pod);
  void put(Report report);

  void happen(const Event& event);
  void happen_to_jobs(const Event& event);
  void happen_to_nodes(const Event& event);
  void turn_bad(std::size_t number, int cause, Fault fault, Seconds longest);
  void turn_many_bad();
  void fall_silent(std::size_t number);
  void go_blind(std::size_t number);
  void repair(std::size_t number, std::uint32_t fault);
  void end_test(std::size_t number);
  void begin_test(std::size_t number);
  void visit(std::size_t number);
  void want_test(std::size_t number);
  void call_lemons();
  void use_lemons() {
    const LemonSearch search{.lemons = lemons_, .last_faults = last_faults_};
    real_.set_lemons(search);
    seen_.set_lemons(search);
  }
  void meddle();
  void start_job(std::uint64_t number);
  void place_pod(std::uint64_t number);
  void gate(std::uint64_t number);
  void report_on(const Pod& pod, Outcome outcome);
  void end_job(std::uint64_t number);
  void lose_pod(std::uint64_t number);
  bool write_node(const PlannedAction& action, const std::string& version, bool answers);
  bool write_pod(const PlannedAction& action, bool answers);

  std::mt19937_64 random_;
  Trouble trouble_;
  Seconds now_ = 0;
  Seconds acted_ = -kSpacing;
  Seconds wake_ = kNever;
  bool is_calm_ = false;
  bool has_news_ = false;
  std::uint64_t order_ = 0;
  std::uint64_t versions_ = 0;
  std::priority_queue<Event> queue_;
  World real_;
  World seen_;
  World::Names late_nodes_;  // nodes that the snapshot shows with an old state
  World::Names late_pods_;
  World::Names late_reports_;
  World::Names late_entries_;
  std::vector<Machine> machines_;
  std::vector<std::string> meddled_;
  std::vector<Lemon> lemons_;
  std::map<std::string, WallTime, std::less<>> last_faults_;  // of all nodes that were called lemons
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::uint64_t, Task> tasks_;  // by pod
  std::uint64_t pods_ = 0;
  std::uint64_t reports_ = 0;
  std::uint64_t incidents_ = 0;
};

}  // namespace autopilot::controller::simulation

#include "tests/support/controller/simulated_jobs.hpp"
#include "tests/support/controller/simulated_nodes.hpp"
