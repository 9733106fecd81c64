// SPDX-License-Identifier: Apache-2.0
#include "agent/operation_routes.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "net/responses.hpp"

namespace autopilot::agent {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::Responder;

void list_tests(const OperationContext& context, Responder responder) {
  std::vector<api::TestInfo> tests;
  for (const diagnostics::OperationKind& kind : context.operations.kinds())
    tests.push_back({kind.id, kind.title, kind.deadline});
  responder.respond(
      net::json_response(api::to_json(tests, {.simulated = context.runtime.snapshot()->simulated})));
}

void list_operations(const OperationContext& context, Responder responder) {
  const api::View view{.observations = true, .simulated = context.runtime.snapshot()->simulated};
  responder.respond(net::json_response(api::to_json(context.operations.list(), view)));
}

void get_operation(const OperationContext& context, const HttpRequest& request, Responder responder) {
  const auto operation = context.operations.find(request.parameters.at("id"));
  if (!operation) return responder.respond(operation.error());
  responder.respond(net::json_response(api::to_json(*operation)));
}

void start_operation(const OperationContext& context, const HttpRequest& request, Responder responder) {
  auto wanted = api::parse_operation_request(request.body);
  if (!wanted) return responder.respond(wanted.error());
  auto started = context.operations.start({std::move(wanted->kind), kube::caller_name(request.peer),
                                           std::move(wanted->reservation), wanted->deadline});
  if (!started) return responder.respond(started.error());
  // Reported now, so that what is waited for below includes it.
  context.note_changes();
  const auto shared = std::make_shared<Responder>(std::move(responder));
  context.runtime.when_durable([shared, operation = std::move(*started)](bool durable) {
    HttpResponse response = net::json_response(api::to_json(operation, durable), 202);
    response.headers.emplace_back("Location", "/v1/operations/" + operation.id);
    shared->respond(std::move(response));
  });
  context.poll_soon();
}

void cancel_operation(const OperationContext& context, const HttpRequest& request, Responder responder) {
  const auto operation =
      context.operations.cancel(request.parameters.at("id"), kube::caller_name(request.peer));
  if (!operation) return responder.respond(operation.error());
  responder.respond(net::json_response(api::to_json(*operation), 202));
}

}  // namespace

void add_operation_routes(net::HttpServer& server, const OperationContext& context) {
  server.route("GET", "/v1/tests", [context](const HttpRequest&, Responder responder) {
    list_tests(context, std::move(responder));
  });
  server.route("GET", "/v1/operations", [context](const HttpRequest&, Responder responder) {
    list_operations(context, std::move(responder));
  });
  server.route("GET", "/v1/operations/{id}", [context](const HttpRequest& request, Responder responder) {
    get_operation(context, request, std::move(responder));
  });
  const auto operations = [](const HttpRequest&) { return kube::VirtualResource{"operations", ""}; };
  server.route(
      "POST", "/v1/operations",
      kube::guarded(context.rights, operations, [context](const HttpRequest& request, Responder responder) {
        start_operation(context, request, std::move(responder));
      }));
  server.route(
      "DELETE", "/v1/operations/{id}",
      kube::guarded(context.rights, operations, [context](const HttpRequest& request, Responder responder) {
        cancel_operation(context, request, std::move(responder));
      }));
}

}  // namespace autopilot::agent
