// SPDX-License-Identifier: Apache-2.0
#include "cli/gate.hpp"

#include <algorithm>
#include <utility>

#include "api/v1.hpp"
#include "core/parse.hpp"
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/http_session.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
// Deadline of /healthz. The address of a replaced pod does not answer at all, and its successor has another
// one.
constexpr Duration kReach = std::chrono::seconds{3};
// Before its first byte the agent lets the API server review the token.
constexpr Duration kHead = std::chrono::seconds{40};
// The agent sends a comment every 15 s.
constexpr Duration kSilence = std::chrono::seconds{45};
constexpr Duration kStopPoll = std::chrono::milliseconds{100};

net::HttpRequest request_of(const std::string& token, const api::PreflightRequest& wanted) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = "/v1/preflight";
  request.headers["accept"] = "text/event-stream";
  request.headers["content-type"] = "application/json";
  if (!token.empty()) request.headers["authorization"] = "Bearer " + token;
  request.body = api::to_json(wanted);
  return request;
}

net::HttpRequest sign_of_life() {
  net::HttpRequest request;
  request.method = "GET";
  request.path = "/healthz";
  return request;
}

// Reads the events of one answer, until the result.
class Reader {
 public:
  explicit Reader(const std::function<void(const api::PreflightProgress&)>& on_progress)
      : on_progress_(on_progress) {}

  // False after the result. Ignores unknown events.
  bool take(const net::ServerEvent& event) {
    if (event.event == "progress") {
      const auto progress = api::parse_preflight_progress(event.data);
      if (!progress) return true;
      if (progress->wait) wait = progress->wait;
      on_progress_(*progress);
      return true;
    }
    if (event.event != "result") return true;
    auto result = api::parse_preflight_result(event.data);
    answer.why = result ? "" : "malformed answer of the agent: " + result.error().what;
    if (result) answer.result = *std::move(result);
    return false;
  }

  GateAnswer answer{std::nullopt, true, "the agent closed the connection"};
  std::optional<Duration> wait;  // latest announced wait, until the caller takes it

 private:
  const std::function<void(const api::PreflightProgress&)>& on_progress_;
};

// Handles an answer without an event stream, as from an agent that is starting or overloaded.
void take_refusal(int status, const std::string& body, GateAnswer& answer) {
  answer.may_come = status >= 500 || status == 429;
  answer.why = "the agent answers " + std::to_string(status);
  const Error error = api::parse_error(body);
  if (!error.what.empty()) answer.why += ": " + error.what;
}

GateAnswer ask_inside_tls(const GateTarget& target, net::HttpRequest request, Duration patience,
                          Reader reader, const std::atomic<bool>& stop) {
  net::EventLoop loop;
  net::HttpSession session(loop, target.url, target.tls,
                           {.body_bytes = kMostBytes, .connections = 2, .kept = 1});
  net::EventParser parser(kMostBytes);
  int status = 0;
  std::string refusal;
  net::Subscription end;
  const auto give_up_after = [&](Duration time) {
    end = loop.after(time, [&, time] {
      reader.answer = {std::nullopt, false, "no answer within " + format_duration(time)};
      loop.stop();
    });
  };
  give_up_after(patience);
  net::StreamHandler handler{
      [&status](const net::HttpResponse& head) { status = head.status; },
      [&](std::string_view bytes) {
        if (status != 200) {
          refusal.append(bytes.substr(0, kMostBytes - std::min(kMostBytes, refusal.size())));
          return;
        }
        const auto more =
            parser.feed(bytes, [&reader](const net::ServerEvent& event) { return reader.take(event); });
        if (!more) reader.answer.why = more.error().what;
        if (!more || !*more) loop.stop();
        if (const auto wait = std::exchange(reader.wait, std::nullopt)) give_up_after(*wait + kAnswerGrace);
      },
      [&](const Status& ended) {
        if (status != 0 && status != 200)
          take_refusal(status, refusal, reader.answer);
        else if (!ended)
          reader.answer.why = ended.error().what;
        loop.stop();
      }};
  net::Exchange exchange;
  const auto take_sign_of_life = [&](const Result<net::HttpResponse>& lives) {
    if (lives) {
      exchange = session.stream(std::move(request), kHead, kSilence, std::move(handler));
      return;
    }
    reader.answer.why = lives.error().what;
    loop.stop();
  };
  const net::Exchange reach = session.send(sign_of_life(), kReach, take_sign_of_life);
  const auto watch = loop.every(kStopPoll, [&] {
    if (stop) loop.stop();
  });
  loop.run();
  return std::move(reader.answer);
}

GateAnswer ask_at_socket(const GateTarget& target, const net::HttpRequest& request, Duration patience,
                         Reader reader, const std::atomic<bool>& stop) {
  const auto ended = net::follow(
      target.socket, request, {.last_event_id = {}, .silence_deadline = std::min(kSilence, patience)},
      [&reader](const net::ServerEvent& event) { return reader.take(event); }, stop);
  if (!ended) {
    reader.answer.why = ended.error().what;
    reader.answer.may_come = ended.error().code == Errc::unavailable;
  }
  return std::move(reader.answer);
}

}  // namespace

Result<GateTarget> gate_target(const std::string& url, const std::string& node,
                               const std::string& authority) {
  GateTarget target;
  target.url = TRY(net::parse_server_url(url));
  if (!target.url.is_tls)
    return fail(Errc::malformed, url + ": expected https://..., because the request carries a token");
  net::TlsIdentity identity;
  identity.authorities = authority;
  identity.server_name = node;
  target.tls = TRY(net::TlsContext::make(identity));
  return target;
}

GateAnswer ask_gate(const GateTarget& target, const std::string& token, const api::PreflightRequest& request,
                    Duration patience, const std::function<void(const api::PreflightProgress&)>& on_progress,
                    const std::atomic<bool>& stop) {
  const Reader reader(on_progress);
  if (!target.socket.socket_path.empty())
    return ask_at_socket(target, request_of("", request), patience, reader, stop);
  return ask_inside_tls(target, request_of(token, request), patience, reader, stop);
}

namespace {

std::string consequence_of(const api::PreflightResult& result) {
  switch (result.outcome) {
    case api::PreflightOutcome::passed:
      return "the job may start";
    case api::PreflightOutcome::failed:
      return result.may_start ? "preflight.failed of the node is start, so the job starts; with stop the pod "
                                "would be held back"
                              : "the job does not start on this node";
    default:
      return result.may_start
                 ? "the GPUs are unproven, and the policy of the node lets the job start"
                 : "the GPUs are unproven, and the policy of the node keeps the job from starting";
  }
}

}  // namespace

std::string line_of(const api::PreflightResult& result) {
  return "node " + result.node + (result.simulated ? " (SIMULATED)" : "") + ": " + result.message + "; " +
         consequence_of(result);
}

std::string line_of(const api::PreflightProgress& progress) {
  return "node " + progress.node + ": " + progress.message;
}

std::vector<std::string> parse_test_list(const std::string& text) {
  std::vector<std::string> ids;
  for (const std::string_view part : split(text, ','))
    if (const std::string_view id = trim(part); !id.empty()) ids.emplace_back(id);
  return ids;
}

bool is_news(const std::optional<api::PreflightProgress>& before, const api::PreflightProgress& now) {
  return !before || before->message != now.message;
}

}  // namespace autopilot::cli
