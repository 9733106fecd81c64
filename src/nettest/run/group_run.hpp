// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/event_loop.hpp"
#include "net/tls.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/group_exchange.hpp"
#include "nettest/run/node_groups.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Result of one group.
struct GroupFound {
  NodeGroup group;                // its members are the nodes of the last try
  std::optional<double> bus;      // bits/s
  std::optional<WrongSum> wrong;  // of any try
  std::string problem;            // why nothing was measured
};

// Lets groups of nodes run all-reduces, step after step. A node that takes no part is left out, of later
// groups too, and the others try again without it; a node that is in use is asked once more first. Ends with
// this. On the loop's thread.
class GroupRun {
 public:
  // Of one group that had all of its nodes asked.
  static constexpr std::size_t kMostTries = 3;
  static constexpr std::size_t kSeconds = 3;  // that count

  struct Listener {
    std::function<void(std::string message)> on_progress;
    // Once, not from within the constructor; it may destroy this.
    std::function<void()> on_end;
    // A node that is in another test may soon be free.
    Duration before_again = std::chrono::seconds{4};
  };

  GroupRun(net::EventLoop& loop, std::shared_ptr<const net::TlsContext> tls,
           std::vector<std::vector<NodeGroup>> steps, Listener listener);
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;
  ~GroupRun() = default;

  // Running exchanges; the caller abandons them.
  [[nodiscard]] std::vector<std::unique_ptr<GroupExchange>> take_exchanges();
  // Groups that have been measured, or could not be.
  [[nodiscard]] const std::vector<GroupFound>& found() const { return found_; }
  // The others, where it is ended now.
  [[nodiscard]] std::vector<GroupFound> rest() const;
  // Whether anything is known of a group yet: one has ended, or had a wrong sum before it was tried again.
  [[nodiscard]] bool has_any() const;
  // Nodes that take no part, and why.
  [[nodiscard]] const std::map<std::string, std::string>& left_out() const { return left_out_; }

 private:
  struct Try {
    NodeGroup group;
    std::size_t number = 1;
    std::set<std::string> waited_for = {};         // nodes that were in use
    std::set<std::string> moved = {};              // of these, the nodes that were to wait, alone
    std::optional<WrongSum> wrong = {};            // of the tries before
    bool is_repeated = false;                      // a rank had ended, and no node stated why
    std::unique_ptr<GroupExchange> exchange = {};  // null: it waits
    net::Subscription pause = {};
  };
  void begin_step();
  void begin(Try next);
  void take(const std::string& name, const GroupAnswer& answer);
  void try_again(Try ended, const GroupAnswer& answer);
  void ask_another_to_wait(Try next);
  void repeat(Try ended, const std::string& problem);
  void pause(Try next);
  void conclude(Try ended, const std::optional<double>& bus, std::string problem);
  void end_step_when_all_have();

  net::EventLoop& loop_;
  const std::shared_ptr<const net::TlsContext> tls_;
  std::deque<std::vector<NodeGroup>> steps_;
  const Listener listener_;
  std::vector<GroupFound> found_;
  std::map<std::string, std::string> left_out_;
  net::Subscription next_;
  WayBack way_back_;
  std::map<std::string, Try> tries_;  // not ended, by the name of the group; last: they call
};

}  // namespace autopilot::nettest
