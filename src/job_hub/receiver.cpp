// SPDX-License-Identifier: Apache-2.0
#include "job_hub/receiver.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "job_hub/job_outcome.hpp"
#include "logging/log.hpp"
#include "net/responses.hpp"

namespace autopilot::job_hub {
namespace {

using std::chrono::seconds;

constexpr seconds kAskAnotherReplica{1};
constexpr seconds kWhenFull{5};
constexpr std::size_t kLongestJob = 253;

net::HttpResponse refusal(int status, const Error& why, seconds retry_after) {
  auto response = net::error_response(status, to_string(why.code), why.what);
  response.headers.emplace_back("Retry-After", std::to_string(retry_after.count()));
  return response;
}

net::HttpResponse refusal(int status, const Error& why) {
  return net::error_response(status, to_string(why.code), why.what);
}

net::HttpResponse answer_200(const api::JobBatchAnswer& answer) {
  return {200, "application/json", to_json(answer), {}};
}

std::string asked_for(const net::HttpRequest& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

}  // namespace

JobReceiver::JobReceiver(const Clock& clock, Sink sink) : clock_(clock), sink_(std::move(sink)) {}

void JobReceiver::add_routes(net::HttpServer& server) {
  server.route("POST", api::kJobRecordsPath,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 responder.respond(answer(request));
               },
               {.access = net::Access::verified_client, .body_bytes = kLongestBody});
  if (!sink_.ask) return;
  server.route("GET", api::kJobOutcomePath,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 answer_outcome(request, std::move(responder));
               },
               {.access = net::Access::verified_client});
}

void JobReceiver::forget() {
  sessions_ = kube::RecentMap<Session>(kMostNodes);
}

ReceiverStats JobReceiver::stats() const {
  ReceiverStats stats = stats_;
  stats.nodes = sessions_.size();
  return stats;
}

Status JobReceiver::check_sender(const net::Peer& peer, const std::string& node) const {
  if (std::ranges::find(peer.names, node) == peer.names.end())
    return fail(Errc::denied,
                "the request is of node " + node + ", and the certificate of the sender does not name it");
  return sink_.is_agent ? sink_.is_agent(node) : Status{};
}

net::HttpResponse JobReceiver::answer(const net::HttpRequest& request) {
  if (!sink_.leads()) return not_leading();
  const auto body = api::parse_job_batch(request.body);
  if (!body) {
    ++stats_.malformed;
    return refusal(400, body.error());
  }
  if (const auto sender = check_sender(request.peer, body->batch.node); !sender) {
    ++stats_.denied;
    return refusal(403, sender.error());
  }
  const Instant now = clock_.now();
  Session& session = sessions_.get(body->batch.node, Session{.refilled = now.mono});
  if (auto limited = limit(session, body->batch.node, request.body.size(), now.mono))
    return *std::move(limited);
  return take(session, *body, now);
}

net::HttpResponse JobReceiver::not_leading() {
  ++stats_.not_leading;
  return refusal(503, {Errc::unavailable, "this controller is not the leader; try another replica"},
                 kAskAnotherReplica);
}

std::optional<net::HttpResponse> JobReceiver::limit(Session& session, const std::string& node,
                                                    std::size_t bytes, MonoTime now) {
  const double missing = missing_bytes(session, bytes, now);
  if (missing <= 0) return std::nullopt;
  ++stats_.limited;
  return refusal(429, {Errc::exhausted, "node " + node + " sends more than one node may"},
                 seconds(static_cast<std::int64_t>(std::ceil(missing / kBytesPerSecond))));
}

std::variant<JobReceiver::Question, net::HttpResponse> JobReceiver::question_of(
    const net::HttpRequest& request) {
  if (!sink_.leads()) return not_leading();
  Question question{.node = asked_for(request, "node"), .job = asked_for(request, "job")};
  if (question.node.empty() || question.job.empty() || question.job.size() > kLongestJob) {
    ++stats_.malformed;
    return refusal(400, {Errc::malformed, "expected ?node=NODE&job=KEY, each of 1 to 253 bytes"});
  }
  if (const auto sender = check_sender(request.peer, question.node); !sender) {
    ++stats_.denied;
    return refusal(403, sender.error());
  }
  const Instant now = clock_.now();
  Session& session = sessions_.get(question.node, Session{.refilled = now.mono});
  if (auto limited = limit(session, question.node, 0, now.mono)) return *std::move(limited);
  return question;
}

void JobReceiver::answer_outcome(const net::HttpRequest& request, net::Responder responder) {
  auto checked = question_of(request);
  if (auto* refused = std::get_if<net::HttpResponse>(&checked)) return responder.respond(std::move(*refused));
  const auto shared = std::make_shared<net::Responder>(std::move(responder));
  const Status asked =
      sink_.ask([shared, question = std::get<Question>(std::move(checked))](jobs::Brain& brain, WallTime) {
        const auto outcome = outcome_for(brain.report(question.job), question.node, question.job);
        if (!outcome) return shared->respond(outcome.error());
        shared->respond(net::json_response(api::to_json(*outcome, false)));
      });
  if (!asked) return shared->respond(asked.error());
  ++stats_.questions;
}

// Pays for a batch; 0: it could.
double JobReceiver::missing_bytes(Session& session, std::size_t bytes, MonoTime now) {
  session.bytes = std::min(kBurstBytes, session.bytes + to_seconds(now - session.refilled) * kBytesPerSecond);
  session.refilled = now;
  const double price = std::max(kLeastBytes, static_cast<double>(bytes));
  if (session.bytes < price) return price - session.bytes;
  session.bytes -= price;
  return 0;
}

net::HttpResponse JobReceiver::take(Session& session, const api::JobBatchBody& body, Instant now) {
  const api::JobBatch& batch = body.batch;
  const bool is_known = session.instance == batch.instance;
  const std::uint64_t before = is_known ? session.sequence : 0;
  if (is_known && batch.sequence <= before) {
    ++stats_.repeated;
    return taken(batch.node, before);
  }
  if (!batch.is_whole && (!is_known || batch.sequence != before + 1)) {
    ++stats_.whole_wanted;
    return answer_200({.taken = before, .wants_whole = true});
  }
  note_clock(session, batch.sent, now.wall);
  if (!sink_.offer({.node = batch.node,
                    .lines = std::string(body.records),
                    .clock_offset = session.clock_offset,
                    .is_whole = batch.is_whole})) {
    ++stats_.full;
    return refusal(429, {Errc::exhausted, "too many batches wait; send it again"}, kWhenFull);
  }
  ++stats_.batches;
  stats_.bytes += body.records.size();
  if (session.clock_offset != Duration{0}) ++stats_.corrected;
  const std::uint64_t known_dropped = is_known ? session.dropped : 0;
  stats_.dropped_by_agents += batch.dropped - std::min(batch.dropped, known_dropped);
  session.instance = batch.instance;
  session.sequence = batch.sequence;
  session.dropped = batch.dropped;
  return taken(batch.node, batch.sequence);
}

net::HttpResponse JobReceiver::taken(const std::string& node, std::uint64_t sequence) const {
  api::JobBatchAnswer answer{.taken = sequence};
  if (sink_.suspected) answer.suspected = sink_.suspected(node);
  return answer_200(answer);
}

// Held until the difference changes by more than the tolerance: otherwise the delay of each request would
// shift the windows of a node against each other.
void JobReceiver::note_clock(Session& session, WallTime sent, WallTime now) {
  const Duration error = now - sent;
  if (std::chrono::abs(error - session.clock_offset) <= kTolerance) return;
  const bool is_wrong = std::chrono::abs(error) > kTolerance;
  session.clock_offset = is_wrong ? Duration(std::chrono::round<seconds>(error)) : Duration{0};
}

}  // namespace autopilot::job_hub
