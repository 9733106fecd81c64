// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/alert_receivers.hpp"
#include "config/config.hpp"
#include "config/setting.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::config {

// Settings of the controller (docs/controller-configuration.md).

struct ControllerKubernetes {
  std::string kubeconfig;                          // empty: the service account of the pod
  std::string label_prefix = "autopilot.ibm.com";  // of labels, annotations and taints
  std::string name_space;                          // of Autopilot; empty: the pod's, or `autopilot`
};

// Source of the TLS certificates.
struct ControllerCertificates {
  std::string mode = "own";  // own, files
  std::string certificate;   // files, all PEM, for mode files
  std::string key;
  std::string authorities;

  [[nodiscard]] bool is_own() const { return mode == "own"; }
  friend bool operator==(const ControllerCertificates&, const ControllerCertificates&) = default;
};

// Containers that the webhook adds to pods for pre-flight tests.
struct ControllerWebhook {
  bool enabled = false;
  std::string client_authorities;  // file, PEM; empty: the webhooks accept every client
  std::string image;
  std::string agent_url;
  std::vector<std::string> resources = {"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  bool resource_claims = true;
  std::vector<std::string> tests;  // empty: the agent's default tests
  Duration deadline = std::chrono::seconds{60};

  friend bool operator==(const ControllerWebhook&, const ControllerWebhook&) = default;
};

// Running jobs: what agents send, and what is done about findings (docs/jobs.md).
struct ControllerJobs {
  bool enabled = true;
  std::string listen = ":9444";  // TLS, for agents
  std::string mode = "observe";  // observe, recommend, act

  friend bool operator==(const ControllerJobs&, const ControllerJobs&) = default;
};

// What post-flight remembers about the cluster (docs/learning.md).
struct ControllerHistory {
  std::string path;  // file; empty: none is kept
  Duration age = std::chrono::hours{24 * 730};
  std::uint64_t bytes = std::uint64_t{1} << 30;

  friend bool operator==(const ControllerHistory&, const ControllerHistory&) = default;
};

struct ControllerConfig {
  std::string listen = ":9443";   // TLS
  std::string metrics = ":8082";  // without TLS: health, metrics, plans
  std::string socket;             // Unix socket with the same paths, for probes; empty: none
  std::string log_level = "info";
  std::string log_format = "text";
  ControllerKubernetes kubernetes;
  ControllerCertificates certificates;
  ControllerWebhook webhook;
  ControllerJobs jobs;
  ControllerHistory history;
  std::string policy;                 // file; empty: observe only
  std::vector<AlertReceiver> alerts;  // about jobs
  Duration drain = std::chrono::seconds{3};
};

// Applies the YAML text to `base`. malformed lists every problem, as in the agent's configuration.
[[nodiscard]] Result<ControllerConfig> parse_controller(std::string_view text, std::string_view name,
                                                        ControllerConfig base);
[[nodiscard]] std::vector<Change> diff(const ControllerConfig& old, const ControllerConfig& next);
// `next`, but settings that cannot change while running keep the value of `old`.
[[nodiscard]] ControllerConfig merge_live(const ControllerConfig& old, const ControllerConfig& next);

// docs/controller-configuration.md.
[[nodiscard]] std::string controller_settings_page();
// The settings of the controller, in the order of that page.
[[nodiscard]] std::vector<SettingText> controller_setting_texts();

// The settings, in the order of the documentation.
using ControllerSetting = SettingRow<ControllerConfig>;
[[nodiscard]] std::span<const ControllerSetting> controller_settings();

}  // namespace autopilot::config
