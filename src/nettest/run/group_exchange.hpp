// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/bandwidth.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/tls.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/node_groups.hpp"

namespace autopilot::nettest {

// Answers of the members of a group, combined.
struct GroupAnswer {
  std::optional<double> bus;                   // bits/s, the lowest that a member measured
  std::optional<WrongSum> wrong;               // in place of it
  std::map<std::string, std::string> refused;  // likewise: nodes that take no part, and why
  std::set<std::string> in_use;                // of these: in another test, or beside a job, now
  // Likewise, if no member names itself as the cause. That another rank has ended is only a consequence, and
  // yields to any other problem.
  std::string problem;
  bool is_cause_unknown = false;  // the problem is such a consequence
};

// One all-reduce of the GPUs of several nodes by their agents: the first agent is asked to wait, the others
// to join it, and the first agent to end. A member that cannot take part ends it for all. On the loop's
// thread.
class GroupExchange {
 public:
  using OnEnd = std::function<void(const GroupAnswer& answer)>;

  // group: why_no_group() of it is empty. seconds: that count. tls: see PairExchange. Calls back once, not
  // from within.
  GroupExchange(net::EventLoop& loop, const std::shared_ptr<const net::TlsContext>& tls, NodeGroup group,
                std::size_t seconds, OnEnd on_end);
  GroupExchange(const GroupExchange&) = delete;
  GroupExchange& operator=(const GroupExchange&) = delete;
  ~GroupExchange() = default;

  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // Only before it has ended: drops the measurement. The waiting member is asked to end, which ends the
  // others as well; then this calls `done`, not from within, instead of on_end.
  void abandon(std::function<void()> done);

 private:
  void listen();
  void take_servers(const Result<net::HttpResponse>& answer);
  void join(std::size_t member, std::size_t first_rank, const api::ServersAnswer& servers);
  void take(std::size_t member, const Result<net::HttpResponse>& answer);
  void note(const std::string& node, const Result<api::BandwidthAnswer>& answer);
  void note_refusal(const std::string& node, const Error& error);
  void note_wrong(const std::string& problem, const std::string& node);
  void note_problem(const std::string& node, const std::string& reason, const std::string& error);
  void note_end(const api::ServersEnd& end);
  void end_servers();
  void take_servers_end(const Result<net::HttpResponse>& answer);
  void end_when_all_have();
  [[nodiscard]] const std::string& node_of(std::size_t member) const;

  const NodeGroup group_;
  const std::vector<std::string> addresses_;  // of the members
  const std::size_t seconds_;
  net::EventLoop& loop_;
  OnEnd on_end_;
  GroupAnswer answer_;
  std::string servers_;         // their id
  std::size_t pending_ = 0;     // joining members that have not answered
  bool is_ending_ = false;      // the waiting member is asked to end
  bool is_waited_for_ = false;  // its answer that it has ended
  bool is_abandoned_ = false;
  bool has_ended_ = false;
  net::Subscription soon_;
  std::vector<std::unique_ptr<net::HttpSession>> sessions_;  // by member
  std::vector<net::Exchange> exchanges_;                     // likewise; last: they call
};

}  // namespace autopilot::nettest
