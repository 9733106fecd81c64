// SPDX-License-Identifier: Apache-2.0
#include "jobs/findings.hpp"

namespace autopilot::jobs {

std::string to_string(const Entity& entity) {
  switch (entity.kind) {
    case EntityKind::unlocalised:
      return "unlocalised";
    case EntityKind::program:
      return "the program";
    case EntityKind::gpu:
      return "GPU " + std::to_string(entity.gpu) + " of " + entity.node;
    case EntityKind::nic:
      return entity.nic + " of " + entity.node;
    case EntityKind::host:
      return "node " + entity.node;
    case EntityKind::leaf:
      return "leaf " + entity.node;
    case EntityKind::storage:
      return "shared storage";
  }
  return {};
}

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::none:
      return "none";
    case Effect::slow:
      return "slow";
    case Effect::regression:
      return "regression";
    case Effect::hang:
      return "hang";
    case Effect::crash:
      return "crash";
  }
  return {};
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::ticket:
      return "ticket";
    case Severity::page:
      return "page";
  }
  return {};
}

std::string_view to_string(Family family) {
  switch (family) {
    case Family::ecc:
      return "ecc";
    case Family::clock:
      return "clock";
    case Family::pcie:
      return "pcie";
    case Family::nvlink:
      return "nvlink";
    case Family::nic:
      return "nic";
    case Family::host:
      return "host";
    case Family::progress:
      return "progress";
    case Family::history:
      return "history";
  }
  return {};
}

std::string_view to_string(Choice choice) {
  switch (choice) {
    case Choice::keep_running:
      return "continue";
    case Choice::swap_at_checkpoint:
      return "swap_at_checkpoint";
    case Choice::stop_now:
      return "stop_now";
    case Choice::restart_in_place:
      return "restart_in_place";
  }
  return {};
}

std::string_view to_string(JobHealth health) {
  switch (health) {
    case JobHealth::unknown:
      return "unknown";
    case JobHealth::starting:
      return "starting";
    case JobHealth::running:
      return "running";
    case JobHealth::slow:
      return "slow";
    case JobHealth::stalled:
      return "stalled";
    case JobHealth::hung:
      return "hung";
    case JobHealth::ended:
      return "ended";
  }
  return {};
}

}  // namespace autopilot::jobs
