// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {

// For tests: /proc of a machine tree, one process after the other.
class TestProcesses {
 public:
  struct Description {
    int pid = 0;
    std::string name;
    int parent = 1;
    std::vector<std::string> environment;
    std::vector<std::string> arguments;
    std::string cgroup = "/";
    int started_ticks = 7700;
    char state = 'S';
    unsigned network_namespace = 4026531992;
  };

  // Also for a process that is there already.
  void add(const Description& process) const {
    const std::string pid = std::to_string(process.pid);
    const std::string path = "/proc/" + pid;
    folder_.write(path + "/stat", pid + " (" + process.name + ") " + process.state + " " +
                                      std::to_string(process.parent) +
                                      " 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 " +
                                      std::to_string(process.started_ticks) + " 0 0\n");
    folder_.write(path + "/environ", joined(process.environment));
    folder_.write(path + "/cmdline",
                  joined(process.arguments.empty() ? std::vector{process.name} : process.arguments));
    folder_.write(path + "/cgroup", "0::" + process.cgroup + "\n");
    folder_.write(path + "/status", "Name:\t" + process.name + "\nUid:\t1000\t1000\t0\t0\nNSpid:\t" + pid +
                                        "\t" + std::to_string(process.pid % 100) + "\n");
    folder_.write(path + "/ns/net", "net:[" + std::to_string(process.network_namespace) + "]");
  }
  void remove(int pid) const { std::filesystem::remove_all(folder_ / ("proc/" + std::to_string(pid))); }

  [[nodiscard]] const TestFolder& folder() const { return folder_; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  static std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
      text.append(word).push_back('\0');
    return text;
  }

  TestFolder folder_;
};

}  // namespace autopilot::host
