// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/records.hpp"

namespace autopilot::jobs {

struct AssemblyLimits {
  std::size_t jobs = 4096;
  std::size_t nodes = 32768;
  std::size_t ranks_of_job = 65536;
};

// Joins what nodes see into records of whole jobs. Each node states its own ranks of a job; the engine wants
// all ranks in one record, one attempt number for all nodes, and one end. Pure: no clock, no I/O. Not
// thread-safe.
//
// A job that restarts on many nodes becomes one new attempt. Ranks that the nodes cannot name
// (JobRecord::has_local_ranks) get numbers of the whole job here, and so do the records that refer to them. A
// node that is silent for 60 s is lost: its ranks stay, for unknown is not ended. Silence is counted in the
// time of advance(), not in that of the records. A change of a job is reported some seconds after it arrived,
// when the other nodes had time to report it as well; the end of a job 30 s later, if it does not restart.
class Assembly {
 public:
  explicit Assembly(AssemblyLimits limits = {});
  Assembly(Assembly&&) noexcept;
  Assembly& operator=(Assembly&&) noexcept;
  ~Assembly();

  // A record that `node` sent; a record that names another node, or a job or rank that the node does not
  // have, is dropped and counted. Appends records for the engine, in the order of their time.
  void add(std::string_view node, Record record, std::vector<Record>& out);
  // The agent of the node begins a session and states all its jobs now, each with a JobRecord: a job that it
  // does not state within 60 s has ended there. For the receiver of a stream.
  void begin_session(std::string_view node);
  // Time has come to `now`: appends what follows from silence, such as the end of a job.
  void advance(WallTime now, std::vector<Record>& out);

  [[nodiscard]] std::size_t dropped() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::jobs
