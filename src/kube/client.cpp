// SPDX-License-Identifier: Apache-2.0
#include "kube/client.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"
#include "kube/line_reader.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr std::size_t kLongestAnswer = 1000;
constexpr int kUnauthorized = 401;
constexpr std::size_t kLongestRefusal = 8 * 1024;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : to_printable({text->data(), text->size()}, kLongestAnswer);
}

std::string_view retry_after(const net::HttpResponse& response) {
  for (const auto& [name, value] : response.headers)
    if (name == "retry-after") return value;
  return {};
}

ApiError no_answer(const Error& error, std::string_view method, std::string_view path) {
  ApiError told;
  told.error = {error.code, std::string(method) + " " + std::string(path) + ": " + error.what};
  told.verdict = judge_error(error.code);
  return told;
}

const char* content_type(Patch kind) {
  switch (kind) {
    case Patch::merge:
      return "application/merge-patch+json";
    case Patch::strategic_merge:
      return "application/strategic-merge-patch+json";
    case Patch::apply:
      return "application/apply-patch+yaml";
    case Patch::json:
      return "application/json-patch+json";
  }
  return "";
}

// A watch in progress: its head can be a refusal, whose body then arrives in parts.
class Watching {
 public:
  Watching(std::string path, WatchHandler handler, std::size_t line_bytes)
      : path_(std::move(path)), handler_(std::move(handler)), lines_(line_bytes) {}

  void take_head(const net::HttpResponse& head) {
    if (head.status != 200) refusal_ = head;
  }
  void take_bytes(std::string_view bytes) {
    if (is_ended_) return;
    if (refusal_) {
      refusal_->body += bytes.substr(0, kLongestRefusal - std::min(kLongestRefusal, refusal_->body.size()));
      return;
    }
    const Status read = lines_.feed(bytes, handler_.on_line);
    if (!read) end(no_answer(read.error(), "WATCH", path_));
  }
  void take_end(const Status& how) {
    if (refusal_)
      end(api_error(*refusal_, "WATCH", path_));
    else if (!how)
      end(no_answer(how.error(), "WATCH", path_));
    else
      end(std::nullopt);
  }

 private:
  void end(std::optional<ApiError> why) {
    if (!std::exchange(is_ended_, true)) handler_.on_end(std::move(why));
  }

  std::string path_;
  WatchHandler handler_;
  LineReader lines_;
  std::optional<net::HttpResponse> refusal_;
  bool is_ended_ = false;
};

}  // namespace

ApiError api_error(const net::HttpResponse& response, std::string_view method, std::string_view path) {
  ApiError told;
  told.status = response.status;
  told.verdict = judge_status(response.status, retry_after(response));
  std::string message;
  json::error_code error;
  const json::value body = json::parse(response.body, error);
  if (const json::object* status = error ? nullptr : body.if_object()) {
    message = text_of(*status, "message");
    told.reason = text_of(*status, "reason");
  }
  if (message.empty()) message = to_printable(trim(response.body), kLongestAnswer);
  told.error.code = code_of(told.verdict.outcome);
  told.error.what = std::string(method) + " " + std::string(path) + ": " + std::to_string(response.status) +
                    (message.empty() ? "" : ": " + message);
  return told;
}

Client::Client(net::EventLoop& loop, net::ServerUrl server, ClientOptions options)
    : options_(std::move(options)), session_(loop, std::move(server), nullptr) {}

void Client::use(std::shared_ptr<const net::TlsContext> tls) {
  session_.use(std::move(tls));
}

void Client::use_token(std::string token) {
  token_ = std::move(token);
}

net::HttpRequest Client::request(std::string method, ApiPath path) const {
  net::HttpRequest made;
  made.method = std::move(method);
  made.path = std::move(path.path);
  made.query = std::move(path.query);
  made.headers["Accept"] = "application/json";
  if (!options_.user_agent.empty()) made.headers["User-Agent"] = options_.user_agent;
  if (!token_.empty()) made.headers["Authorization"] = "Bearer " + token_;
  return made;
}

net::Exchange Client::send(net::HttpRequest request, OnObject on_answer) {
  if (request.method != "GET" && request.method != "DELETE")
    request.query.insert_or_assign("fieldManager", options_.field_manager);
  const std::string method = request.method;
  const std::string path = request.path;
  return session_.send(
      std::move(request), options_.deadline,
      [this, method, path, on_answer = std::move(on_answer)](Result<net::HttpResponse> answer) {
        if (answer && answer->status >= 200 && answer->status <= 299) {
          count(ApiOutcome::ok);
          return on_answer(std::move(answer->body));
        }
        if (answer && answer->status == kUnauthorized && options_.on_unauthorized) options_.on_unauthorized();
        ApiError why = answer ? api_error(*answer, method, path) : no_answer(answer.error(), method, path);
        count(why.verdict.outcome);
        on_answer(tl::unexpected(std::move(why)));
      });
}

net::Exchange Client::get(ApiPath path, OnObject on_answer) {
  return send(request("GET", std::move(path)), std::move(on_answer));
}

net::Exchange Client::create(ApiPath path, std::string json, OnObject on_answer) {
  auto made = request("POST", std::move(path));
  made.headers["Content-Type"] = "application/json";
  made.body = std::move(json);
  return send(std::move(made), std::move(on_answer));
}

net::Exchange Client::replace(ApiPath path, std::string json, OnObject on_answer) {
  auto made = request("PUT", std::move(path));
  made.headers["Content-Type"] = "application/json";
  made.body = std::move(json);
  return send(std::move(made), std::move(on_answer));
}

net::Exchange Client::patch(ApiPath path, Patch kind, std::string body, OnObject on_answer, bool force) {
  auto made = request("PATCH", std::move(path));
  made.headers["Content-Type"] = content_type(kind);
  if (kind == Patch::apply && force) made.query["force"] = "true";
  made.body = std::move(body);
  return send(std::move(made), std::move(on_answer));
}

net::Exchange Client::remove(ApiPath path, std::string options_json, OnObject on_answer) {
  auto made = request("DELETE", std::move(path));
  if (!options_json.empty()) made.headers["Content-Type"] = "application/json";
  made.body = std::move(options_json);
  return send(std::move(made), std::move(on_answer));
}

net::Exchange Client::watch(ApiPath path, Duration silence, WatchHandler handler) {
  auto made = request("GET", std::move(path));
  made.query["watch"] = "true";
  const auto watching = std::make_shared<Watching>(made.path, std::move(handler), options_.line_bytes);
  net::StreamHandler stream;
  stream.on_head = [this, watching](const net::HttpResponse& head) {
    if (head.status == kUnauthorized && options_.on_unauthorized) options_.on_unauthorized();
    if (head.status != 200) count(judge_status(head.status, "").outcome);
    watching->take_head(head);
  };
  stream.on_bytes = [watching](std::string_view bytes) { watching->take_bytes(bytes); };
  stream.on_end = [watching](const Status& end) { watching->take_end(end); };
  return session_.stream(std::move(made), options_.deadline, silence, std::move(stream));
}

}  // namespace autopilot::kube
