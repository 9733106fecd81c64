// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

// What an operator may set of the controller (docs/controller-configuration.md).
namespace autopilot::config {

struct ControllerKubernetes {
  std::string kubeconfig;                          // empty: the account of the pod
  std::string label_prefix = "autopilot.ibm.com";  // of labels, annotations and taints
  std::string name_space;                          // of Autopilot; empty: that of the pod, or `autopilot`
};

// Where the keys of TLS come from.
struct ControllerCertificates {
  std::string mode = "own";  // own, files
  std::string certificate;   // files, all PEM, with mode files
  std::string key;
  std::string authorities;

  [[nodiscard]] bool is_own() const { return mode == "own"; }
  friend bool operator==(const ControllerCertificates&, const ControllerCertificates&) = default;
};

// What pods get that ask for a pre-flight test.
struct ControllerWebhook {
  bool enabled = false;
  std::string client_authorities;  // file, PEM; empty: the webhooks answer every client
  std::string image;
  std::string agent_url;
  std::vector<std::string> resources = {"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  bool resource_claims = true;
  std::vector<std::string> tests;  // empty: those that the agent chooses
  Duration deadline = std::chrono::seconds{60};

  friend bool operator==(const ControllerWebhook&, const ControllerWebhook&) = default;
};

struct ControllerConfig {
  std::string listen = ":9443";   // inside TLS
  std::string metrics = ":8082";  // in the clear: health, metrics, plans
  std::string socket;             // Unix socket with the same, for probes; empty: none
  std::string log_level = "info";
  std::string log_format = "text";
  ControllerKubernetes kubernetes;
  ControllerCertificates certificates;
  ControllerWebhook webhook;
  std::string policy;  // file; empty: nothing but observing
  Duration drain = std::chrono::seconds{3};
};

// The YAML text over `base`. malformed lists every problem, as of the agent's configuration.
[[nodiscard]] Result<ControllerConfig> parse_controller(std::string_view text, std::string_view name,
                                                        ControllerConfig base);
[[nodiscard]] std::vector<Change> diff(const ControllerConfig& old, const ControllerConfig& next);
// `next`, with what cannot change while running as it is in `old`.
[[nodiscard]] ControllerConfig merge_live(const ControllerConfig& old, const ControllerConfig& next);

// docs/controller-configuration.md.
[[nodiscard]] std::string controller_settings_page();

}  // namespace autopilot::config
