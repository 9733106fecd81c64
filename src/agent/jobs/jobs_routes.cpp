// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/jobs_routes.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "api/jobs_v1.hpp"
#include "core/parse.hpp"
#include "job_hub/brain_routes.hpp"
#include "net/responses.hpp"

namespace autopilot::agent {
namespace {

using net::HttpRequest;
using net::Responder;

constexpr std::size_t kLongestJobName = 253;

// Why this agent cannot answer about jobs.
std::optional<Error> why_no_jobs(const JobsRouteContext& context, bool needs_brain) {
  if (context.runner == nullptr)
    return Error{
        Errc::unsupported,
        "this agent does not watch jobs: `jobs.enabled` is false; set it to true and restart the agent"};
  if (needs_brain && context.brain_at == api::JobBrain::controller)
    return Error{Errc::unsupported,
                 "the controller evaluates the jobs of this node; ask it: kubectl autopilot jobs"};
  return std::nullopt;
}

Result<std::string> wanted_job(const HttpRequest& request) {
  const auto found = request.query.find("job");
  if (found == request.query.end()) return std::string();
  if (found->second.empty() || found->second.size() > kLongestJobName)
    return fail(Errc::malformed, "job: expected 1 to 253 bytes");
  return found->second;
}

void answer_job(const JobsRouteContext& context, const std::string& job, Responder responder) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const Status posted =
      context.runner->post([shared, job, is_simulated = context.is_simulated](NodeJobs& jobs) {
        const auto report = jobs.brain().report(job);
        if (!report) return shared->respond(report.error());
        shared->respond(net::json_response(api::to_json(*report, is_simulated)));
      });
  if (!posted) shared->respond(posted.error());
}

void get_jobs(const JobsRouteContext& context, const HttpRequest& request, Responder responder) {
  if (const auto why = why_no_jobs(context, true)) return responder.respond(*why);
  const auto job = wanted_job(request);
  if (!job) return responder.respond(job.error());
  if (!job->empty()) return answer_job(context, *job, std::move(responder));
  api::JobList list = context.runner->snapshot()->list;
  list.is_simulated = context.is_simulated;
  list.brain = context.brain_at;
  responder.respond(net::json_response(api::to_json(list)));
}

void follow_records(const JobsRouteContext& context, const HttpRequest& request, Responder responder) {
  if (const auto why = why_no_jobs(context, false)) return responder.respond(*why);
  const auto job = wanted_job(request);
  if (!job) return responder.respond(job.error());
  const auto stream = std::make_shared<net::EventStream>(responder.stream());
  const Status posted = context.runner->post([feed = context.feed, stream, job = *job](NodeJobs& jobs) {
    (void)feed->follow(std::move(*stream), job, jobs.present());
  });
  if (!posted) stream->close();
}

void list_evidence(const JobsRouteContext& context, const std::shared_ptr<Responder>& responder) {
  context.evidence->list([responder](const Result<api::EvidenceList>& list) {
    if (!list) return responder->respond(list.error());
    responder->respond(net::json_response(api::to_json(*list)));
  });
}

// Only dumps of the flight recorder have no extension: they are pickles.
const char* evidence_type(const std::string& file) {
  return file.find('.') == std::string::npos ? "application/octet-stream" : "text/plain; charset=utf-8";
}

void read_evidence(const JobsRouteContext& context, const HttpRequest& request,
                   const std::shared_ptr<Responder>& responder) {
  const auto wanted = [&](std::string_view name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  std::size_t offset = 0;
  if (const std::string text = wanted("offset"); !text.empty()) {
    const auto number = parse_number<std::size_t>(text);
    if (!number) return responder->respond({Errc::malformed, "offset: expected a number of bytes"});
    offset = *number;
  }
  if (!request.query.contains("item"))
    return responder->respond({Errc::malformed, "item: expected the file of an item, from the list"});
  const std::string file = wanted("item");
  context.evidence->read(wanted("id"), file, offset, [responder, file](Result<std::string> text) {
    if (!text) return responder->respond(text.error());
    responder->respond(net::HttpResponse{200, evidence_type(file), *std::move(text), {}});
  });
}

void get_evidence(const JobsRouteContext& context, const HttpRequest& request, Responder responder) {
  if (const auto why = why_no_jobs(context, false)) return responder.respond(*why);
  const auto shared = std::make_shared<Responder>(std::move(responder));
  if (request.query.contains("id"))
    read_evidence(context, request, shared);
  else
    list_evidence(context, shared);
}

// It shows the kernel log, and where programs wait.
void add_evidence_route(net::HttpServer& server, const JobsRouteContext& context) {
  server.route("GET", "/v1/jobs/evidence",
               kube::guarded(
                   context.rights,
                   [](const HttpRequest&) {
                     return kube::VirtualResource{"jobs", "evidence"};
                   },
                   [context](const HttpRequest& request, Responder responder) {
                     get_evidence(context, request, std::move(responder));
                   }));
}

// Asks the brain of this agent, on the runner's thread.
Status ask_brain(const JobsRouteContext& context,
                 std::function<void(jobs::Brain& brain, WallTime now)> question) {
  if (const auto why = why_no_jobs(context, true)) return fail(*why);
  return context.runner->post([&clock = context.clock, question = std::move(question)](NodeJobs& jobs) {
    question(jobs.brain(), clock.now().wall);
  });
}

}  // namespace

void add_jobs_routes(net::HttpServer& server, const JobsRouteContext& context) {
  server.route("GET", "/v1/jobs", [context](const HttpRequest& request, Responder responder) {
    get_jobs(context, request, std::move(responder));
  });
  server.route("GET", "/v1/jobs/records", [context](const HttpRequest& request, Responder responder) {
    follow_records(context, request, std::move(responder));
  });
  add_evidence_route(server, context);
  job_hub::add_brain_actions(
      server, {.ask = [context](auto question) { return ask_brain(context, std::move(question)); },
               .brain_at = context.brain_at,
               .is_simulated = context.is_simulated,
               .rights = context.rights});
}

}  // namespace autopilot::agent
