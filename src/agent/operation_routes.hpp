// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "diagnostics/operations/operations.hpp"
#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// What the routes of operations use. Everything is used on the loop's thread and outlives the server.
struct OperationContext {
  diagnostics::Operations& operations;
  runtime::Runtime& runtime;
  std::function<void()> note_changes;  // writes starts and ends to the journal and the events
  std::function<void()> poll_soon;
  kube::CallerRights rights;
};

// /v1/tests and /v1/operations of api/openapi.yaml. The caller that starts an operation owns it.
void add_operation_routes(net::HttpServer& server, const OperationContext& context);

}  // namespace autopilot::agent
