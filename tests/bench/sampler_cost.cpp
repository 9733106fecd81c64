// SPDX-License-Identifier: Apache-2.0
// sampler_cost TREE LIBRARY RANKS: the Sampler of telemetry with the real helper of a simulated driver,
// polled once a second. Each line of standard input starts or ends a job of RANKS ranks; the end of the input
// ends the program, which then prints what the sampler counted. sampler_rows.py measures both processes.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "collect/telemetry/sampler.hpp"
#include "core/parse.hpp"
#include "host/gpu/nvml_driver.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/open_host.hpp"

namespace {

using namespace autopilot;
using namespace std::chrono_literals;

constexpr int kChildrenOfRank = 4;
constexpr int kFirstPid = 4'100'000;  // beyond the pids of the machine

// Files of a process in the tree, of the size that the kernel's have.
void write_process(const std::string& tree, int pid) {
  const std::string folder = tree + "/root/proc/" + std::to_string(pid);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/stat")
      << pid << " (python3) R 1 " << pid << ' ' << pid
      << " 0 -1 4194304 913452 0 12 0 381223 20114 0 0 20 0 143 0 7261533 "
         "48318382080 912453 18446744073709551615 1 1 0 0 0 0 0 16781312 82378 0 0 0 17 "
         "11 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  std::ofstream(folder + "/io") << "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n"
                                   "read_bytes: 0\nwrite_bytes: 323932160\ncancelled_write_bytes: 0\n";
}

collect::SeenJobs job_of(const std::string& tree, int ranks) {
  collect::SeenJobs jobs;
  collect::SeenJob& job = jobs.jobs.emplace_back();
  job.record.job = "ml/llama";
  int pid = kFirstPid;
  for (int rank = 0; rank < ranks; ++rank) {
    collect::RankProcess& process = job.processes.emplace_back();
    process.rank = rank;
    process.gpus = {rank};
    process.pid = pid;
    write_process(tree, pid++);
    for (int child = 0; child < kChildrenOfRank; ++child) {
      process.children.push_back(pid);
      write_process(tree, pid++);
    }
  }
  return jobs;
}

int run(const std::string& tree, const std::string& library, int ranks) {
  host::OpenOptions options;
  options.nvml_library = library;
  const auto opened = host::open_tree_host(tree, options);
  if (!opened) {
    std::cerr << "sampler_cost: " << opened.error().what << "\n";
    return 1;
  }
  const host::Host& host = *opened->host;
  // An agent has this helper in any case.
  static_cast<void>(host.nvidia_gpus.read({host::GpuGroup::identity}, host.clock.now().mono + 10s));
  const collect::SeenJobs job = job_of(tree, ranks);
  std::atomic<bool> has_job = false;
  std::atomic<bool> is_over = false;
  std::thread input([&] {
    for (std::string line; std::getline(std::cin, line);)
      has_job = !has_job;
    is_over = true;
  });
  collect::Sampler sampler(opened->host,
                           {.node = opened->node, .leaf = {}, .idle_w = {}, .spin_w = {}, .busy_w = {}});
  std::vector<jobs::Record> records;
  std::cout << "ready" << std::endl;
  for (auto next = std::chrono::steady_clock::now(); !is_over; next += 1s) {
    sampler.poll(has_job ? job : collect::SeenJobs{}, host.clock.now().wall, records);
    records.clear();
    std::this_thread::sleep_until(next + 1s);
  }
  input.join();
  const collect::SamplerCounts& counts = sampler.counts();
  std::cout << "windows " << counts.windows << " gpu_requests " << counts.gpu_requests << " gpu_failures "
            << counts.gpu_failures << " driver_calls " << counts.driver_calls << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "helper" && words[1] == "nvml")
    return host::run_nvml_helper(host::kHelperFd, {words.begin() + 2, words.end()});
  const auto ranks = words.size() == 3 ? parse_number<int>(words[2]) : std::nullopt;
  if (!ranks) {
    std::cerr << "sampler_cost TREE LIBRARY RANKS\n";
    return 64;
  }
  return run(words[0], words[1], *ranks);
}
