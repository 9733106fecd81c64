// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/log_parts.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "host/diagnostic_results/results.hpp"
#include "host/host.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

struct OpenOptions {
  // The program that serves as helper process ("autopilot"); empty: this one.
  std::string helper_program;
  // The NVML library; empty: where drivers put it. For a machine tree the simulated one, which reads the
  // tree's nvml.yaml.
  std::string nvml_library;
  // The socket of `autopilot helper kmsg`, which is asked for the running machine's kernel log; empty: this
  // process reads it itself.
  std::string kernel_log_socket;
  // The socket of `autopilot helper kubelet --listen`, which is asked in place of the machine's own kubelet;
  // also for a machine tree, whose GPUs a real kubelet may give to pods. Empty: the machine's own.
  std::string kubelet_socket;
  // The operator allows injected faults in a kernel log that grows (KernelLogTail).
  bool trusts_injected = false;
  // The clock of a machine tree; nothing: it starts at the tree's time, or is the real one where the tree is
  // played.
  std::shared_ptr<const Clock> clock;
  // on_kernel_news is called from any thread with what news_in finds in new kernel records. For a machine
  // tree: only if its kernel log is fed.
  NewsIn news_in;
  PartOf part_of;  // of a kernel record; none: every record concerns every reader
  OnKernelNews on_kernel_news;
  // Results of the active tests, whichever process runs them; empty: no process does.
  std::shared_ptr<const TestResults> tests;
};

// One machine with all its backends.
struct OpenedHost {
  std::shared_ptr<const Host> host;  // keeps everything alive
  std::string node;
  std::string boot_id;
  bool simulated = false;
  // Fills in the counters of the backends: kernel records, driver calls, helpers that hang. Thread-safe.
  std::function<void(SelfStatus& self)> complete_self;
};

// The running machine.
[[nodiscard]] Result<OpenedHost> open_system_host(const OpenOptions& options);
// An expanded machine tree. not_found: no machine.yaml; not_found as well when the tree has a driver but
// nvml_library does not exist.
[[nodiscard]] Result<OpenedHost> open_tree_host(const std::string& directory, const OpenOptions& options);

}  // namespace autopilot::host
