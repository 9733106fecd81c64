// SPDX-License-Identifier: Apache-2.0

#include "kube/client.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"
#include "kube/pacing.hpp"

namespace autopilot::kube {

namespace {

constexpr WordTable<ApiOutcome, 12> kOutcomeWords{{
    {ApiOutcome::ok, "ok"},
    {ApiOutcome::not_found, "not_found"},
    {ApiOutcome::conflict, "conflict"},
    {ApiOutcome::expired, "expired"},
    {ApiOutcome::invalid, "invalid"},
    {ApiOutcome::unauthorized, "unauthorized"},
    {ApiOutcome::forbidden, "forbidden"},
    {ApiOutcome::busy, "busy"},
    {ApiOutcome::server_error, "server_error"},
    {ApiOutcome::unreachable, "unreachable"},
    {ApiOutcome::too_large, "too_large"},
    {ApiOutcome::unexpected, "unexpected"},
}};

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text) {
  text = trim(text);
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  // A number that overflows is a long time as well.
  const auto seconds = parse_number<std::uint64_t>(text).value_or(std::numeric_limits<std::uint64_t>::max());
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kLongestRetryAfter);
  return std::chrono::seconds{std::min<std::uint64_t>(seconds, static_cast<std::uint64_t>(longest.count()))};
}

ApiVerdict judge_status(int status, std::string_view retry_after) {
  if (status >= 200 && status < 300) return {};
  const auto later = [&](ApiOutcome outcome) {
    return ApiVerdict{outcome, ApiNext::back_off, parse_retry_after(retry_after)};
  };
  switch (status) {
    case 400:
    case 422:
      return {ApiOutcome::invalid, ApiNext::give_up, {}};
    case 401:
      return {ApiOutcome::unauthorized, ApiNext::refresh_credentials, {}};
    case 403:
      return {ApiOutcome::forbidden, ApiNext::give_up, {}};
    case 404:
      return {ApiOutcome::not_found, ApiNext::give_up, {}};
    case 408:
      return later(ApiOutcome::server_error);
    case 409:
      return {ApiOutcome::conflict, ApiNext::look_again, {}};
    case 410:
      return {ApiOutcome::expired, ApiNext::list_again, {}};
    case 413:
      return {ApiOutcome::too_large, ApiNext::give_up, {}};
    case 429:
      return later(ApiOutcome::busy);
    default:
      break;
  }
  if (status >= 500 && status < 600) return later(ApiOutcome::server_error);
  return {ApiOutcome::unexpected, ApiNext::give_up, {}};
}

ApiVerdict judge_error(Errc code) {
  switch (code) {
    case Errc::denied:
      return {ApiOutcome::unauthorized, ApiNext::refresh_credentials, {}};
    case Errc::exhausted:
      return {ApiOutcome::too_large, ApiNext::give_up, {}};
    case Errc::unsupported:
      return {ApiOutcome::unexpected, ApiNext::give_up, {}};
    case Errc::malformed:  // a proxy, or a server that shuts down
    case Errc::unavailable:
    case Errc::timed_out:
    case Errc::not_found:
    case Errc::conflict:
    case Errc::internal:
      break;
  }
  return {ApiOutcome::unreachable, ApiNext::back_off, {}};
}

Errc code_of(ApiOutcome outcome) {
  switch (outcome) {
    case ApiOutcome::unauthorized:
    case ApiOutcome::forbidden:
      return Errc::denied;
    case ApiOutcome::not_found:
    case ApiOutcome::expired:
      return Errc::not_found;
    case ApiOutcome::conflict:
      return Errc::conflict;
    case ApiOutcome::busy:
    case ApiOutcome::too_large:
      return Errc::exhausted;
    case ApiOutcome::invalid:
    case ApiOutcome::unexpected:
      return Errc::malformed;
    case ApiOutcome::server_error:
    case ApiOutcome::unreachable:
    case ApiOutcome::ok:
      break;
  }
  return Errc::unavailable;
}

std::string_view to_string(ApiOutcome outcome) {
  return word_of(kOutcomeWords, outcome);
}

namespace {

constexpr std::size_t kLongestAnswer = 1000;
constexpr int kUnauthorized = 401;
constexpr std::size_t kLongestRefusal = 8 * 1024;

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

// Splits a stream of bytes into lines.
class LineReader {
 public:
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  // Calls `on_line` for each complete line, without its end; skips empty lines. exhausted: a line is too
  // long; then reading stops.
  [[nodiscard]] Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line);

 private:
  std::size_t longest_;
  std::string begun_;
};

Status LineReader::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    begun_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (begun_.size() > longest_) break;
    const std::string line = std::exchange(begun_, {});
    if (!line.empty()) on_line(line);
  }
  begun_ += bytes;
  if (begun_.size() > longest_)
    return fail(Errc::exhausted, "a line of more than " + std::to_string(longest_) + " bytes");
  return {};
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
  if (const auto status = parse_object(response.body)) {
    message = to_printable(text_at(*status, {"message"}), kLongestAnswer);
    told.reason = to_printable(text_at(*status, {"reason"}), kLongestAnswer);
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
