// SPDX-License-Identifier: Apache-2.0
#include "agent/compat/ibm_routes.hpp"

#include <memory>
#include <utility>

#include "agent/compat/fan_out_json.hpp"
#include "agent/responses.hpp"
#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/transcript.hpp"

namespace autopilot::agent {
namespace {

namespace ibm = compat::ibm_autopilot;
using net::HttpRequest;
using net::Responder;
using Answers = std::vector<ibm::CheckAnswer>;

using Form = IbmRoutes::Form;

Form wanted_form(const HttpRequest& request) {
  const auto found = request.headers.find("accept");
  const std::string accepted = found == request.headers.end() ? "" : found->second;
  if (accepted.find("text/event-stream") != std::string::npos) return Form::events;
  // Clients that take anything name several.
  const bool is_json = accepted.find("application/json") != std::string::npos;
  return is_json && accepted.find("text/plain") == std::string::npos ? Form::json : Form::text;
}

// Of those that may look now, ours.
std::vector<std::string> passive_checks(const std::vector<std::string>& names) {
  std::vector<std::string> checks;
  for (const std::string& name : names)
    if (const auto* known = ibm::find_check(name); known != nullptr && !known->is_active)
      checks.emplace_back(known->check);
  return checks;
}

void look_and_answer(const LookContext& context, std::vector<std::string> names,
                     std::function<void(const Answers& answers, const NodeSnapshot& snapshot)> done) {
  const auto checks = passive_checks(names);
  const WallTime fresh_since = context.clock.now().wall - kFreshLook;
  look_freshly(context, checks,
               [&runtime = context.runtime, fresh_since, names = std::move(names), done = std::move(done)] {
                 const auto snapshot = runtime.snapshot();
                 done(ibm::answers_of(names, *snapshot, fresh_since), *snapshot);
               });
}

// What this node says of itself. preamble: what a text begins with.
void answer_of_this_node(const LookContext& context, std::vector<std::string> names, Form form,
                         Responder responder, std::string preamble) {
  const auto to = std::make_shared<Responder>(std::move(responder));
  look_and_answer(
      context, std::move(names),
      [to, form, preamble = std::move(preamble)](const Answers& answers, const NodeSnapshot& snapshot) {
        if (form == Form::text) return to->respond(text(ibm::to_text(answers, snapshot, preamble)));
        if (form == Form::json) return to->respond(json(ibm::to_json(answers, snapshot) + "\n"));
        net::EventStream stream = to->stream();
        for (const ibm::CheckAnswer& answer : answers)
          (void)stream.send({"", "check", ibm::to_json(answer, snapshot)});
      });
}

FanOutContext fan_out_context(const IbmContext& context) {
  const auto answer_here = [look = context.look, all = context.periodic_checks](
                               const ibm::StatusRequest& request, ReplyForm form,
                               const std::function<void(std::string)>& done) {
    look_and_answer(
        look, ibm::named_checks(request.checks, all),
        [form, done](const Answers& answers, const NodeSnapshot& snapshot) {
          done(form == ReplyForm::json ? ibm::to_json(answers, snapshot) : ibm::to_text(answers, snapshot));
        });
  };
  return {context.look.loop, context.look.clock, context.node, answer_here, context.peers};
}

std::string transcript_of(const std::vector<NodeReply>& replies, Duration took) {
  std::vector<ibm::AskedNode> asked;
  for (const NodeReply& reply : replies)
    asked.push_back({reply.peer.node, reply.peer.address, reply.url,
                     reply.body ? *reply.body : ibm::no_reply(reply.body.error().what)});
  return ibm::transcript(asked, took);
}

// Everything of all nodes at once. beginning: what a text begins with.
FanOut::Listener answer_at_end(Form form, Responder responder, std::string beginning) {
  const auto to = std::make_shared<Responder>(std::move(responder));
  return {
      [](const NodeReply&) {},
      [to, form, beginning = std::move(beginning)](const auto& replies, Duration took) {
        if (form == Form::json)
          return to->respond(json((replies ? to_json(*replies, took) : no_replies(replies.error())) + "\n"));
        to->respond(
            text(beginning + (replies ? transcript_of(*replies, took) : replies.error().what + ". ABORT\n")));
      }};
}

FanOut::Listener answer_as_they_come(Responder responder) {
  const auto stream = std::make_shared<net::EventStream>(responder.stream());
  return {[stream](const NodeReply& reply) {
            (void)stream->send({"", "node", to_json(reply)});
          },
          [stream](const auto& replies, Duration took) {
            const std::string last = replies ? to_json(std::vector<NodeReply>{}, took) : replies.error().what;
            (void)stream->send({"", replies ? "end" : "error", last});
            stream->close();
          }};
}

}  // namespace

IbmRoutes::IbmRoutes(IbmContext context)
    : context_(std::move(context)), fan_out_(fan_out_context(context_)) {}

void IbmRoutes::add_to(net::HttpServer& server) {
  server.route("GET", "/readinessprobe", [](const HttpRequest&, Responder responder) {
    responder.respond({201, "application/json", "{\"Name\":\"readinessProbe\",\"Body\":\"ready\"}\n", {}});
  });
  for (const ibm::CheckName& check : ibm::check_names())
    add_check(server, check);
  for (const char* method : {"GET", "POST"})
    server.route(method, "/status", [this](const HttpRequest& request, Responder responder) {
      get_status(request, std::move(responder));
    });
}

// A check that is asked for alone.
void IbmRoutes::add_check(net::HttpServer& server, const ibm::CheckName& check) {
  const auto handle = [this, &check](const HttpRequest& request, Responder responder) {
    answer_of_this_node(context_.look, {std::string(check.name)}, wanted_form(request), std::move(responder),
                        ibm::preamble_of(check, context_.pcie_bandwidth_limit()));
  };
  for (const char* method : {"GET", "POST"})
    server.route(method, "/" + std::string(check.name), handle);
}

void IbmRoutes::get_status(const HttpRequest& request, Responder responder) {
  const auto wanted = ibm::read_status_request(request.query);
  if (!wanted) return responder.respond(text(wanted.error().what + "\n"));
  const Form form = wanted_form(request);
  std::string beginning;
  if (wanted->wants_iperf)
    beginning = "Running iperf3 on hosts " + wanted->host + " or job " + wanted->job +
                "\n\ncheck not supported: iperf\n";
  if (wanted->wants_iperf && wanted->checks.empty()) return responder.respond(text(beginning));
  if (ibm::is_local(*wanted, context_.node))
    return answer_of_this_node(context_.look, ibm::named_checks(wanted->checks, context_.periodic_checks),
                               form, std::move(responder), beginning);
  const auto to = std::make_shared<Responder>(std::move(responder));
  find_wanted_nodes(context_.finder, *wanted, request,
                    [this, wanted = *wanted, form, beginning, to](const WantedNodes& found) {
                      ask_nodes(wanted, found, form, beginning, std::move(*to));
                    });
}

void IbmRoutes::ask_nodes(const ibm::StatusRequest& wanted, const WantedNodes& found, Form form,
                          std::string beginning, Responder responder) {
  const auto asked = ibm::with_nodes(wanted, found.nodes);
  if (!asked) return responder.respond(text(asked.error().what + "\n"));
  beginning += ibm::asking_line(wanted) + found.said;
  if (asked->host.empty()) return responder.respond(text(beginning));
  if (form == Form::events)
    return fan_out_.ask(*asked, ReplyForm::json, answer_as_they_come(std::move(responder)));
  fan_out_.ask(*asked, form == Form::json ? ReplyForm::json : ReplyForm::text,
               answer_at_end(form, std::move(responder), beginning));
}

}  // namespace autopilot::agent
