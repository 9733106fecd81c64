// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "api/bandwidth.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/process/child_runner.hpp"
#include "net/event_loop.hpp"
#include "nettest/echo/probes.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Stands for all interfaces: NCCL chooses the lines of an all-reduce, which also uses all GPUs, so no other
// test runs at the same time.
inline constexpr const char* kAllLines = "*";

// Endpoints of bandwidth tests on this node: servers that listen for another node, and measurements against
// the servers of another node. Each is a child with a deadline. One interface, and the memory of one GPU, is
// in one test at a time; beside a test of kAllLines no other test runs. On the loop's thread.
class BandwidthEnds {
 public:
  static constexpr std::size_t kMost = 16;
  // Time that a child may take beyond the seconds of its test, to connect and to give up by itself.
  static constexpr Duration kBeyond = std::chrono::seconds{20};

  struct Doors {
    Result<std::string> program;      // see net_probe_program
    Result<std::string> gpu_program;  // see gpu_probe_program
    // Runs a child to its end, on another thread; see ChildRunner::run.
    std::function<Result<host::ChildReport>(const host::Command& command, MonoTime deadline,
                                            const std::stop_token& stop, const host::LineHandler& on_line)>
        run;
    // Runs it on a thread that may block; false: there is no room.
    std::function<bool(std::function<void()> task)> submit;
    // Called kGivenBack after the end of a test that had GPUs, if no other such test has ended since: an
    // earlier check of the GPUs saw the test's process, or took another process for it. Null: not called.
    std::function<void()> on_gpus_free = {};
  };
  // Time after the end of a process in which it may still be listed: in a shared answer of the driver, or by
  // the driver itself (AMD). The GPU probe reads the list itself.
  static constexpr Duration kGivenBack = std::chrono::seconds{3};

  using OnListening = std::function<void(Result<api::ServersAnswer> answer)>;
  using OnMeasured = std::function<void(Result<api::BandwidthAnswer> answer)>;
  using OnReport = std::function<void(Result<BandwidthReport> report)>;

  // prefix: of the ids of servers.
  BandwidthEnds(net::EventLoop& loop, const Clock& clock, std::string prefix, Doors doors);
  BandwidthEnds(const BandwidthEnds&) = delete;
  BandwidthEnds& operator=(const BandwidthEnds&) = delete;
  // Ends all of them.
  ~BandwidthEnds() { stop(); }

  // interface: the interface of the address. Calls back, not from within, when all servers listen or one does
  // not. conflict: the interface, or the GPU, is in use by another test; exhausted; not_found: the program is
  // missing. On an error the servers have ended, and the interface is free.
  void serve(const std::string& interface, const BandwidthServer& server, OnListening done);
  // Likewise, over RDMA. interface: the interface of the same line, or the port if the line has none.
  void serve(const std::string& interface, const RdmaServer& server, OnListening done);
  // Likewise, by NCCL or RCCL, on kAllLines; seconds: until the server ends by itself.
  void serve(const AllReduceServer& server, int seconds, OnListening done);
  // Ends these servers, and calls back, at once or later, when they have ended: then the interface is free.
  // Their result is handed out once.
  using OnServersEnd = std::function<void(const api::ServersEnd& end)>;
  void end(const std::string& id, OnServersEnd done);
  // Ends the test on this interface, also before its servers listen, and calls back as end() does.
  void end_on(const std::string& interface, std::function<void()> done);
  // Likewise all of them.
  void end_all(const std::function<void()>& done);
  // Measures over TCP or RDMA or, on kAllLines, by NCCL; errors as of serve(). A failed measurement is an
  // answer with its reason. gpu: see host::RdmaTest. vendor: of the GPUs of this node, for an all-reduce.
  void measure(const std::string& interface, const api::BandwidthRequest& request, OnMeasured done,
               const std::string& gpu = {}, host::GpuVendor vendor = host::GpuVendor::nvidia);
  // Likewise, in one direction only.
  void measure_to(const std::string& interface, const BandwidthTest& test, OnReport done);
  // Likewise, the RDMA port of that interface writes to itself. Returns the id for stop(); empty: the
  // measurement did not begin.
  std::string measure_loopback(const std::string& interface, const RdmaLoopback& test, OnReport done);
  // Ends the test with that id; does nothing if it has ended.
  void stop(const std::string& id);
  void stop();
  [[nodiscard]] bool is_idle() const { return ends_.empty(); }
  // By a test of bandwidth.
  [[nodiscard]] bool is_in_use(const std::string& interface) const;
  // Number of processes of these tests that a check of that GPU, begun at `look`, may see; they count until
  // kGivenBack after their end.
  [[nodiscard]] int processes_on(const std::string& gpu, WallTime look) const;
  // The servers with that id use GPUs or the memory of one, or have used them and their result is not handed
  // out yet.
  [[nodiscard]] bool holds_gpus(const std::string& id) const;

 private:
  // Parses the first line of a server; the answer has no id yet.
  using ReadLine = Result<api::ServersAnswer> (*)(std::string_view line);

  struct End {
    std::string interface;
    std::string gpu;  // whose memory it uses; empty: none but on kAllLines, which is all
    std::stop_source stop;
    bool is_listening = false;
    ReadLine read_line = nullptr;
    OnListening on_listening;
    std::optional<Error> refusal;  // why it does not listen; reported when its child has ended
    std::vector<std::function<void()>> on_end;
    // The GPU that it has; kAllLines: all of them; empty: none.
    [[nodiscard]] std::string held() const { return interface == kAllLines ? interface : gpu; }
  };

  using Run = std::function<Result<host::ChildReport>(const host::Command& command)>;

  [[nodiscard]] const Result<std::string>& program_for(const std::string& interface) const;
  [[nodiscard]] Result<std::string> begin(const std::string& interface, const std::string& gpu);
  // seconds: until its child ends by itself.
  template <typename Server>
  void serve_with(const std::string& interface, const std::string& gpu, const Server& server, int seconds,
                  ReadLine read_line, OnListening done);
  // seconds: of the longest child.
  // The id, as above.
  template <typename Answer>
  std::string take_part(const std::string& interface, const std::string& gpu, int seconds,
                        std::function<Answer(const Run& run)> measure,
                        std::function<void(Answer answer)> done);
  void take_line(const std::string& id, const std::string& line);
  void take_end(const std::string& id, const std::string& why);
  void take_found(const std::string& id, const api::ServersEnd& found);
  [[nodiscard]] api::ServersEnd give_found(const std::string& id);
  void note_end(const End& end);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::string prefix_;
  const Doors doors_;
  std::map<std::string, End> ends_;               // by id
  std::map<std::string, api::ServersEnd> found_;  // of servers that have ended, likewise; at most kMost
  std::uint64_t next_ = 0;
  std::map<std::string, WallTime> gpus_until_;  // of tests that have ended, by GPU; kAllLines: by all
  net::Subscription gpus_free_;                 // until the last of these
  WayBack way_back_;
};

}  // namespace autopilot::nettest
