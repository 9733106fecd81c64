// SPDX-License-Identifier: Apache-2.0
#include "job_hub/receiver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "logging/log.hpp"

namespace autopilot::job_hub {
namespace {

using std::chrono::seconds;

constexpr seconds kAskAnotherReplica{1};
constexpr seconds kWhenFull{5};

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

}  // namespace

JobReceiver::JobReceiver(const Clock& clock, Sink sink) : clock_(clock), sink_(std::move(sink)) {}

void JobReceiver::add_routes(net::HttpServer& server) {
  server.route("POST", api::kJobRecordsPath,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 responder.respond(answer(request));
               },
               {.access = net::Access::verified_client, .body_bytes = kLongestBody});
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
                "the batch is of node " + node + ", and the certificate of the sender does not name it");
  return sink_.is_agent ? sink_.is_agent(node) : Status{};
}

net::HttpResponse JobReceiver::answer(const net::HttpRequest& request) {
  if (!sink_.leads()) {
    ++stats_.not_leading;
    return refusal(503, {Errc::unavailable, "this controller is not the leader; try another replica"},
                   kAskAnotherReplica);
  }
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
  if (const double missing = missing_bytes(session, request.body.size(), now.mono); missing > 0) {
    ++stats_.limited;
    return refusal(429, {Errc::exhausted, "node " + body->batch.node + " sends more than one node may"},
                   seconds(static_cast<std::int64_t>(std::ceil(missing / kBytesPerSecond))));
  }
  return take(session, *body, now);
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
