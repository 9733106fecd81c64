// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/ibm_routes.hpp"

#include <array>
#include <memory>
#include <utility>

#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/service/fan_out.hpp"
#include "compat/ibm_autopilot/transcript.hpp"
#include "diagnostics/cluster/deep_test_words.hpp"
#include "net/responses.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;
using net::HttpRequest;
using net::Responder;
using Answers = std::vector<ibm::CheckAnswer>;

using Form = IbmRoutes::Form;

constexpr Duration kTravel = std::chrono::seconds{5};
constexpr const char* kNoTls =
    "Other nodes answer with their last results: between agents there is no TLS.\n";
constexpr const char* kUserNotTold =
    "Other nodes answer with their last results: what is known of the user is too long to be passed on.\n";

Form wanted_form(const HttpRequest& request) {
  const auto found = request.headers.find("accept");
  const std::string accepted = found == request.headers.end() ? "" : found->second;
  if (accepted.find("text/event-stream") != std::string::npos) return Form::events;
  // Clients that take anything name several.
  const bool is_json = accepted.find("application/json") != std::string::npos;
  return is_json && accepted.find("text/plain") == std::string::npos ? Form::json : Form::text;
}

// Empty: it does, or did.
std::string why_none_runs(const Operation& operation) {
  return operation.is_over() && operation.state != OperationState::succeeded ? operation.message : "";
}

// One line for each test of the request, for the reader of a stream.
void say_what_is_tested(net::EventStream& stream, const std::string& node, const TestRights& rights) {
  for (const std::string& check : rights.may)
    (void)stream.send({"", "test", ibm::test_json(node, check)});
}

void answer_as_stream(const LocalContext& context, const std::string& node,
                      const std::vector<std::string>& names, const TestRights& rights, Responder responder) {
  const auto stream = std::make_shared<net::EventStream>(responder.stream());
  say_what_is_tested(*stream, node, rights);
  answer_locally(context, names, rights, [stream](const Answers& answers, const NodeSnapshot& snapshot) {
    for (const ibm::CheckAnswer& answer : answers)
      (void)stream->send({"", "check", ibm::to_json(answer, snapshot)});
    stream->close();
  });
}

FanOutContext fan_out_context(const IbmContext& context) {
  const auto answer_here = [local = context.local, all = context.periodic_checks](
                               const ibm::StatusRequest& request, const TestRights& rights, ReplyForm form,
                               const std::function<void(std::string)>& done) {
    answer_locally(
        local, ibm::named_checks(request.checks, all), rights,
        [form, done](const Answers& answers, const NodeSnapshot& snapshot) {
          done(form == ReplyForm::json ? ibm::to_json(answers, snapshot) : ibm::to_text(answers, snapshot));
        });
  };
  FanOutContext made{context.local.look.loop, context.local.look.clock, context.node, answer_here,
                     context.peers};
  made.tls = context.tls;
  made.test_patience = diagnostics::TestRuns::kPatience + kTravel;
  // Others make tests as well before they answer.
  if (context.open_actions) made.node_patience = made.test_patience;
  return made;
}

std::string transcript_of(const std::vector<NodeReply>& replies, Duration took) {
  std::vector<ibm::AskedNode> asked;
  for (const NodeReply& reply : replies)
    asked.push_back({reply.peer.node, reply.peer.address, reply.url,
                     reply.body ? *reply.body : ibm::no_reply(reply.body.error().what)});
  return ibm::transcript(asked, took);
}

// Everything of all nodes at once. beginning: what a text begins with. network: see to_json.
FanOut::Listener answer_at_end(Form form, Responder responder, std::string beginning, std::string network) {
  const auto to = std::make_shared<Responder>(std::move(responder));
  return {[](const NodeReply&) {},
          [to, form, beginning = std::move(beginning), network = std::move(network)](const auto& replies,
                                                                                     Duration took) {
            if (form == Form::json)
              return to->respond(net::json_response(
                  (replies ? to_json(*replies, took, network) : no_replies(replies.error())) + "\n"));
            to->respond(net::text_response(
                beginning + (replies ? transcript_of(*replies, took) : replies.error().what + ". ABORT\n")));
          }};
}

FanOut::Listener answer_as_they_come(Responder responder, const std::string& network) {
  const auto stream = std::make_shared<net::EventStream>(responder.stream());
  if (!network.empty()) (void)stream->send({"", "check", network});
  return {[stream](const NodeReply& reply) {
            (void)stream->send({"", "node", to_json(reply)});
          },
          [stream](const auto& replies, Duration took) {
            const std::string last = replies ? to_json(std::vector<NodeReply>{}, took) : replies.error().what;
            (void)stream->send({"", replies ? "end" : "error", last});
            stream->close();
          },
          [stream] { return stream->has_room(); }};
}

}  // namespace

IbmRoutes::IbmRoutes(IbmContext context) : context_(std::move(context)), fan_out_(fan_out_context(context_)) {
  if (context_.network) iperf_.emplace(*context_.network, context_.finder.rights, context_.open_actions);
}

void IbmRoutes::add_to(net::HttpServer& server) {
  server.route("GET", "/readinessprobe", [](const HttpRequest&, Responder responder) {
    responder.respond({201, "application/json", "{\"Name\":\"readinessProbe\",\"Body\":\"ready\"}\n", {}});
  });
  for (const ibm::CheckName& check : ibm::check_names())
    add_check(server, check);
  for (const char* method : {"GET", "POST"}) {
    server.route(method, "/status", [this](const HttpRequest& request, Responder responder) {
      get_status(request, std::move(responder));
    });
    server.route(method, "/invasive", [this](const HttpRequest& request, Responder responder) {
      launch_deep_test(request, std::move(responder));
    });
  }
  add_iperf_parts(server);
}

void IbmRoutes::add_iperf_parts(net::HttpServer& server) {
  using Part = void (IperfParts::*)(const HttpRequest&, Responder);
  constexpr std::array<std::pair<const char*, Part>, 3> kParts{
      {{"/iperfservers", &IperfParts::serve},
       {"/iperfstopservers", &IperfParts::stop_serving},
       {"/iperfclients", &IperfParts::measure}}};
  for (const auto& [path, part] : kParts)
    for (const char* method : {"GET", "POST"})
      server.route(method, path, [this, part](const HttpRequest& request, Responder responder) {
        if (!iperf_) return responder.respond(net::text_response(std::string(ibm::kNetworkTestText)));
        ((*iperf_).*part)(request, std::move(responder));
      });
}

// Answers when the test has begun, as the original does.
void IbmRoutes::launch_deep_test(const HttpRequest& request, Responder responder) {
  const std::string check(diagnostics::kDeepTestCheck);
  const auto to = std::make_shared<Responder>(std::move(responder));
  find_test_rights(context_.finder.rights, context_.open_actions, request, {check},
                   [this, to, check](const TestRights& rights) {
                     std::string why_not = rights.refused.empty() ? "authenticate" : rights.refused.at(check);
                     if (rights.any()) {
                       const auto begun = context_.local.tests.begin(check, rights.user);
                       why_not = begun ? why_none_runs(*begun) : begun.error().what;
                     }
                     to->respond(net::text_response(
                         ibm::invasive_text(context_.label_prefix, context_.deep_test_level, why_not)));
                   });
}

// A check that is asked for alone.
void IbmRoutes::add_check(net::HttpServer& server, const ibm::CheckName& check) {
  const auto handle = [this, &check](const HttpRequest& request, Responder responder) {
    answer_here({std::string(check.name)}, ibm::preamble_of(check, context_.pcie_bandwidth_limit()), request,
                std::move(responder));
  };
  for (const char* method : {"GET", "POST"})
    server.route(method, "/" + std::string(check.name), handle);
}

// Answers of this node. preamble: first lines of a text.
void IbmRoutes::answer_here(const std::vector<std::string>& names, std::string preamble,
                            const HttpRequest& request, Responder responder) {
  const auto to = std::make_shared<Responder>(std::move(responder));
  const auto answer = [this, to, form = wanted_form(request), names,
                       preamble = std::move(preamble)](const TestRights& rights) {
    if (form == Form::events)
      return answer_as_stream(context_.local, context_.node, names, rights, std::move(*to));
    answer_locally(context_.local, names, rights,
                   [to, form, preamble](const Answers& answers, const NodeSnapshot& snapshot) {
                     if (form == Form::text)
                       return to->respond(net::text_response(ibm::to_text(answers, snapshot, preamble)));
                     to->respond(net::json_response(ibm::to_json(answers, snapshot) + "\n"));
                   });
  };
  find_test_rights(context_.finder.rights, context_.open_actions, request,
                   active_checks(context_.local.tests, names), answer);
}

void IbmRoutes::get_status(const HttpRequest& request, Responder responder) {
  const auto wanted = ibm::read_status_request(request.query);
  if (!wanted) return responder.respond(net::text_response(wanted.error().what + "\n"));
  std::vector<std::string> names;
  if (wanted->wants_iperf) names.emplace_back(ibm::kNetworkTest);
  const bool is_network_alone = wanted->wants_iperf && wanted->checks.empty();
  if (is_network_alone || ibm::is_local(*wanted, context_.node)) {
    if (!is_network_alone)
      for (std::string& name : ibm::named_checks(wanted->checks, context_.periodic_checks))
        names.push_back(std::move(name));
    return answer_here(names, wanted->wants_iperf ? ibm::network_test_line(*wanted) : "", request,
                       std::move(responder));
  }
  // The request ends with this call.
  const auto question = std::make_shared<Question>(
      Question{*wanted, request, wanted_form(request), "", "", {}, std::move(responder)});
  if (!wanted->wants_iperf) return find_nodes(question);
  find_test_rights(
      context_.finder.rights, context_.open_actions, request, active_checks(context_.local.tests, names),
      [this, question, names](const TestRights& rights) {
        answer_locally(context_.local, names, rights,
                       [this, question](const Answers& answers, const NodeSnapshot& snapshot) {
                         question->beginning =
                             ibm::to_text(answers, snapshot, ibm::network_test_line(question->wanted));
                         if (!question->beginning.ends_with('\n')) question->beginning += '\n';
                         question->network = ibm::to_json(answers.front(), snapshot);
                         find_nodes(question);
                       });
      });
}

void IbmRoutes::find_nodes(const std::shared_ptr<Question>& question) {
  const auto names = ibm::named_checks(question->wanted.checks, context_.periodic_checks);
  find_test_rights(context_.finder.rights, context_.open_actions, question->request,
                   active_checks(context_.local.tests, names), [this, question](const TestRights& rights) {
                     question->rights = rights;
                     if (!context_.tls()) question->rights.user_text.clear();
                     find_wanted_nodes(
                         context_.finder, question->wanted, question->request,
                         [this, question](const WantedNodes& found) { ask_nodes(*question, found); });
                   });
}

// Empty: other nodes test where the user has the permission, or no test was requested.
std::string IbmRoutes::why_others_make_no_tests(const TestRights& rights) const {
  // With open_actions each node runs its own tests.
  if (context_.open_actions || !rights.any()) return "";
  if (!context_.tls()) return kNoTls;
  return rights.user_text.empty() ? kUserNotTold : "";
}

void IbmRoutes::ask_nodes(Question& question, const WantedNodes& found) {
  const auto asked = ibm::with_nodes(question.wanted, found.nodes);
  if (!asked) return question.responder.respond(net::text_response(asked.error().what + "\n"));
  question.beginning += ibm::asking_line(question.wanted) + found.said;
  if (asked->host.empty()) return question.responder.respond(net::text_response(question.beginning));
  question.beginning += why_others_make_no_tests(question.rights);
  if (question.form == Form::events)
    return fan_out_.ask(*asked, question.rights, ReplyForm::json,
                        answer_as_they_come(std::move(question.responder), question.network));
  const bool is_json = question.form == Form::json;
  fan_out_.ask(
      *asked, question.rights, is_json ? ReplyForm::json : ReplyForm::text,
      answer_at_end(question.form, std::move(question.responder), question.beginning, question.network));
}

}  // namespace autopilot::compat::ibm_autopilot
