// SPDX-License-Identifier: Apache-2.0
#include "agent/routes.hpp"

#include <algorithm>
#include <utility>

#include "agent/snapshot_pages.hpp"
#include "api/v1.hpp"
#include "core/parse.hpp"
#include "core/value.hpp"
#include "host/process/processes.hpp"
#include "logging/metrics_text.hpp"
#include "net/responses.hpp"

namespace autopilot::agent {
namespace {

using net::HttpRequest;
using net::HttpServer;
using net::Responder;

std::string_view header(const HttpRequest& request, std::string_view name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view query(const HttpRequest& request, std::string_view name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string_view{} : std::string_view(found->second);
}

api::View view_of(const HttpRequest& request, const NodeSnapshot& snapshot) {
  return {.observations = query(request, "observations") != "false", .simulated = snapshot.simulated};
}

// What the page is called in SnapshotPages.
std::string page_name(const std::string& page, const api::View& view) {
  return page + (view.observations ? "" : " without observations");
}

Error unknown_check(std::string_view id) {
  return {Errc::not_found, "no check " + std::string(id) + " runs here; GET /v1/checks lists them"};
}

void get_node(const RouteContext& context, SnapshotPages& pages, const HttpRequest& request,
              Responder responder) {
  const auto snapshot = context.runtime.snapshot();
  const api::View view = view_of(request, *snapshot);
  responder.respond(pages.answer(request, snapshot, page_name("node", view),
                                 [&](const NodeSnapshot& node) { return api::to_json(node, view); }));
}

void get_check(const RouteContext& context, SnapshotPages& pages, const HttpRequest& request,
               Responder responder) {
  const auto snapshot = context.runtime.snapshot();
  const std::string& id = request.parameters.at("id");
  const auto found = std::ranges::find(snapshot->results, id, &CheckResult::check);
  if (found == snapshot->results.end()) return responder.respond(unknown_check(id));
  const api::View view = view_of(request, *snapshot);
  responder.respond(pages.answer(request, snapshot, page_name("check " + id, view),
                                 [&](const NodeSnapshot&) { return api::to_json(*found, view); }));
}

void list_checks(const RouteContext& context, SnapshotPages& pages, const HttpRequest& request,
                 Responder responder) {
  responder.respond(
      pages.answer(request, context.runtime.snapshot(), "checks", [&](const NodeSnapshot& snapshot) {
        return api::to_json(api::summarize(context.runtime.check_infos(), snapshot),
                            {.simulated = snapshot.simulated});
      }));
}

void list_incidents(const RouteContext& context, SnapshotPages& pages, const HttpRequest& request,
                    Responder responder) {
  responder.respond(
      pages.answer(request, context.runtime.snapshot(), "incidents", [](const NodeSnapshot& snapshot) {
        return api::to_json(snapshot.incidents, {.simulated = snapshot.simulated});
      }));
}

void run_check(const RouteContext& context, const HttpRequest& request, Responder responder) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const std::string& id = request.parameters.at("id");
  const api::View view{.simulated = context.runtime.snapshot()->simulated};
  const bool accepted = context.runtime.run_now(id, [shared, view](const CheckResult& result) {
    shared->respond(net::json_response(api::to_json(result, view)));
  });
  if (!accepted) return shared->respond(unknown_check(id));
  context.poll_soon();
}

// Where a reader of events wants to begin; nothing where it does not say.
struct Beginning {
  std::optional<std::uint64_t> after;
  std::optional<WallTime> since;
};

// The header of a reconnecting browser, else ?after=; and ?since=.
Result<Beginning> wanted_beginning(const HttpRequest& request) {
  Beginning wanted;
  const auto last = header(request, "last-event-id");
  if (const auto id = last.empty() ? query(request, "after") : last; !id.empty()) {
    wanted.after = parse_number<std::uint64_t>(id);
    if (!wanted.after)
      return fail(Errc::malformed,
                  "Last-Event-ID, after: expected the id of an event, not '" + std::string(id) + "'");
  }
  if (const auto since = query(request, "since"); !since.empty()) {
    wanted.since = parse_time(since);
    if (!wanted.since)
      return fail(Errc::malformed,
                  "since: expected a time such as 2026-11-21T03:04:05Z, not '" + std::string(since) + "'");
  }
  return wanted;
}

// A stream goes on where the events before it end.
std::uint64_t last_before(WallTime since, const runtime::EventLog& log) {
  std::uint64_t last = 0;
  for (const Event& event : log.after(0)) {
    if (event.time >= since) break;
    last = event.id;
  }
  return last;
}

void get_events(const RouteContext& context, const HttpRequest& request, Responder responder) {
  const auto parsed = wanted_beginning(request);
  if (!parsed) return responder.respond(parsed.error());
  const Beginning& wanted = *parsed;
  const auto& log = context.runtime.events();
  if (header(request, "accept").find("application/json") == std::string_view::npos) {
    const std::uint64_t unsaid = wanted.since ? last_before(*wanted.since, log) : log.newest_shown();
    return context.streams.add(responder.stream(), wanted.after.value_or(unsaid), log);
  }
  auto events = log.after(wanted.after.value_or(0));
  const WallTime since = wanted.since.value_or(WallTime::min());
  std::erase_if(events, [since](const Event& event) { return event.time < since; });
  responder.respond(
      net::json_response(api::to_json(events, {.simulated = context.runtime.snapshot()->simulated})));
}

// "alice (uid 1000)"; "alice" of a token.
std::string name_of(const net::Peer& peer) {
  const std::string caller = kube::caller_name(peer);
  const auto account = peer.is_local_socket ? host::local_user_name(peer.uid) : std::nullopt;
  return account ? *account + " (" + caller + ")" : caller;
}

void acknowledge(const RouteContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = api::parse_acknowledge_request(request.body);
  if (!wanted) return responder.respond(wanted.error());
  auto incident = context.runtime.acknowledge(
      request.parameters.at("id"), {name_of(request.peer), context.clock.now().wall, wanted->reason},
      request.peer.pid);
  if (!incident) return responder.respond(incident.error());
  const auto shared = std::make_shared<Responder>(std::move(responder));
  context.runtime.when_durable([shared, incident = std::move(*incident)](bool durable) {
    shared->respond(net::json_response(api::to_json(incident, durable)));
  });
  context.poll_soon();
}

// "xid 79 injected on gpu/2 by uid 0"; without a subject, the machine chooses one.
std::string injection_text(const api::InjectRequest& wanted, const net::Peer& peer) {
  std::string text = to_utf8(wanted.fault);
  if (wanted.magnitude) text += " " + autopilot::to_string(Value{*wanted.magnitude});
  text += " injected";
  if (wanted.subject.kind != SubjectKind::host) text += " on " + to_utf8(to_string(wanted.subject));
  return text + " by uid " + std::to_string(peer.uid);
}

// The subject as the checks report it: "gpu/2" names a GPU by the index of the driver.
Subject known_subject(const Subject& wanted, const NodeSnapshot& node) {
  for (const CheckResult& result : node.results)
    for (const Observation& observation : result.observations) {
      const Subject& one = observation.subject;
      if (one.kind == wanted.kind && one.index && wanted.key == std::to_string(*one.index)) return one;
    }
  return wanted;
}

void inject(const RouteContext& context, const HttpRequest& request, Responder responder) {
  const auto wanted = api::parse_inject_request(request.body);
  if (!wanted) return responder.respond(wanted.error());
  if (const auto done = context.inject(*wanted); !done) return responder.respond(done.error());
  Event event;
  event.kind = EventKind::fault_injected;
  event.subject = known_subject(wanted->subject, *context.runtime.snapshot());
  event.reason = wanted->fault;
  event.message = injection_text(*wanted, request.peer);
  event.injected = true;
  const auto id = context.runtime.tell(std::move(event));
  const auto shared = std::make_shared<Responder>(std::move(responder));
  context.runtime.when_durable([shared, id](bool durable) {
    shared->respond(net::json_response(api::to_json(api::Receipt{std::to_string(id), durable}), 201));
  });
  context.poll_soon();
}

void add_readers(HttpServer& server, const RouteContext& context) {
  using Reader = void (*)(const RouteContext&, SnapshotPages&, const HttpRequest&, Responder);
  const auto pages = std::make_shared<SnapshotPages>();
  const auto read = [&](std::string_view path, Reader reader) {
    server.route("GET", path, [context, pages, reader](const HttpRequest& request, Responder responder) {
      reader(context, *pages, request, std::move(responder));
    });
  };
  read("/v1/node", get_node);
  read("/v1/checks", list_checks);
  read("/v1/checks/{id}", get_check);
  read("/v1/incidents", list_incidents);
  server.route("GET", "/v1/events", [context](const HttpRequest& request, Responder responder) {
    get_events(context, request, std::move(responder));
  });
}

void add_service(HttpServer& server, const RouteContext& context) {
  server.route("GET", "/metrics", [context, &server](const HttpRequest&, Responder responder) {
    responder.respond({200,
                       std::string(logging::MetricsText::kContentType),
                       context.metrics.render(context.runtime.snapshot(), server.stats(), context.tls(),
                                              context.gate_stats(), context.clock.now().wall) +
                           context.further_metrics(),
                       {}});
  });
  server.route("GET", "/healthz", [](const HttpRequest&, Responder responder) {
    responder.respond(net::text_response("ok\n"));
  });
  server.route("GET", "/readyz", [context](const HttpRequest&, Responder responder) {
    const bool ready = context.runtime.has_run_once();
    responder.respond(ready ? net::text_response("ok\n")
                            : net::text_response("not every check has run once\n", 503));
  });
  server.route("GET", "/openapi.yaml", [](const HttpRequest&, Responder responder) {
    responder.respond({200, "application/yaml", std::string(api::openapi_yaml()), {}});
  });
}

void add_actions(HttpServer& server, const RouteContext& context) {
  const auto check = [](const HttpRequest& request) {
    return kube::VirtualResource{"checks", request.parameters.at("id")};
  };
  server.route(
      "POST", "/v1/checks/{id}",
      kube::guarded(context.rights, check, [context](const HttpRequest& request, Responder responder) {
        run_check(context, request, std::move(responder));
      }));
  const auto acknowledgement = [](const HttpRequest&) { return kube::VirtualResource{"incidents", "ack"}; };
  server.route("POST", "/v1/incidents/{id}/ack",
               kube::guarded(context.rights, acknowledgement,
                             [context](const HttpRequest& request, Responder responder) {
                               acknowledge(context, request, std::move(responder));
                             }));
  server.route("POST", "/v1/inject",
               [context](const HttpRequest& request, Responder responder) {
                 inject(context, request, std::move(responder));
               },
               {.access = net::Access::local_socket});
}

}  // namespace

void add_node_routes(net::HttpServer& server, const RouteContext& context) {
  add_readers(server, context);
  add_service(server, context);
  add_actions(server, context);
}

}  // namespace autopilot::agent
