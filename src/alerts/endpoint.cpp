// SPDX-License-Identifier: Apache-2.0
#include "alerts/endpoint.hpp"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "logging/log.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"

namespace autopilot::alerts {

struct Endpoint::Texts {
  std::string url;
  std::string key;
  std::string authorities;
  friend bool operator==(const Texts&, const Texts&) = default;
};

struct Endpoint::Seen {
  std::mutex mutex;
  bool is_reading = false;
  std::optional<Result<Texts>> last;
};

namespace {

constexpr Duration kLook = std::chrono::milliseconds{20};  // while a worker reads the files
constexpr std::size_t kMaxReply = std::size_t{64} << 10;

// "https://host:1/path?query" in two parts: "https://host:1", "/path?query".
std::pair<std::string, std::string> split_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = scheme == std::string::npos ? scheme : url.find_first_of("/?", scheme + 3);
  if (at == std::string::npos) return {url, {}};
  const std::string rest = url.substr(at);
  return {url.substr(0, at), rest.starts_with('?') ? '/' + rest : rest};
}

// Only the status is repeated: a body could contain what the receiver was sent.
Reply judge(const Result<net::HttpResponse>& response, const std::string& host) {
  if (!response) return {Answer::later, response.error().what};
  const int status = response->status;
  if (status >= 200 && status <= 299) return {};
  const bool is_temporary = status == 408 || status == 429 || status >= 500;
  return {is_temporary ? Answer::later : Answer::refused,
          host + " answered with status " + std::to_string(status)};
}

Status check_key(const std::string& path, const std::string& key) {
  if (key.empty()) return fail(Errc::malformed, path + ": the key is empty");
  if (key.size() > Endpoint::kMaxKey)
    return fail(Errc::malformed,
                path + ": the key is longer than " + std::to_string(Endpoint::kMaxKey) + " bytes");
  return {};
}

}  // namespace

Endpoint::Endpoint(net::EventLoop& loop, config::AlertReceiver receiver, std::string path,
                   net::ReadFile read_file, RunBlocking run_blocking, std::function<void()> on_ready)
    : loop_(loop),
      receiver_(std::move(receiver)),
      path_(std::move(path)),
      read_file_(std::move(read_file)),
      run_blocking_(std::move(run_blocking)),
      on_ready_(std::move(on_ready)),
      seen_(std::make_shared<Seen>()) {
  read();
  look_ = loop_.after(kLook, [this] { look(); });
}

Endpoint::~Endpoint() = default;

const std::string& Endpoint::key() const {
  static const std::string none;
  return texts_ == nullptr ? none : texts_->key;
}

// No new read starts while one is blocked.
void Endpoint::read() {
  {
    const std::lock_guard lock(seen_->mutex);
    if (std::exchange(seen_->is_reading, true)) return;
  }
  run_blocking_([seen = seen_, receiver = receiver_, read_file = read_file_] {
    const auto read_all = [&]() -> Result<Texts> {
      Texts texts{.url = receiver.url, .key = {}, .authorities = {}};
      if (!receiver.url_file.empty()) texts.url = trim(TRY(read_file(receiver.url_file)));
      if (!receiver.secret_file.empty()) {
        texts.key = trim(TRY(read_file(receiver.secret_file)));
        TRY_STATUS(check_key(receiver.secret_file, texts.key));
      }
      if (!receiver.authorities.empty()) texts.authorities = TRY(read_file(receiver.authorities));
      return texts;
    };
    Result<Texts> texts = read_all();
    const std::lock_guard lock(seen->mutex);
    seen->last = std::move(texts);
    seen->is_reading = false;
  });
}

void Endpoint::look() {
  std::optional<Result<Texts>> seen;
  {
    const std::lock_guard lock(seen_->mutex);
    seen = std::exchange(seen_->last, std::nullopt);
  }
  if (!seen) {
    look_ = loop_.after(kLook, [this] { look(); });
    return;
  }
  take(*seen);
  look_ = loop_.after(kReadEvery, [this] {
    read();
    look();
  });
}

void Endpoint::take(const Result<Texts>& texts) {
  if (!texts) return object(texts.error().what);
  if (texts_ != nullptr && *texts_ == *texts) return problem_.clear();
  if (const Status used = use(*texts); !used) return object(used.error().what);
  problem_.clear();
  on_ready_();
}

Status Endpoint::use(const Texts& texts) {
  const auto [server, target] = split_url(texts.url);
  auto url = net::parse_server_url(server);
  auto parsed = net::parse_request_target(target.empty() ? "/" : target);
  // The text of the error would repeat the URL.
  if (!url || !parsed)
    return fail(Errc::malformed, (receiver_.url_file.empty() ? "its `url`" : receiver_.url_file) +
                                     " is not an http or https URL");
  std::shared_ptr<const net::TlsContext> tls;
  if (url->is_tls) tls = TRY(net::TlsContext::make(net::TlsIdentity{.authorities = texts.authorities}));
  target_path_ = parsed->path;
  if (!path_.empty()) {
    while (target_path_.ends_with('/'))
      target_path_.pop_back();
    target_path_ += path_;
  }
  target_query_ = parsed->query;
  texts_ = std::make_unique<Texts>(texts);
  session_ = std::make_unique<net::HttpSession>(loop_, *std::move(url), std::move(tls),
                                                net::SessionLimits{.body_bytes = kMaxReply});
  return {};
}

void Endpoint::object(const std::string& why) {
  if (std::exchange(problem_, why) == why) return;
  logging::log_warning("a file of an alert receiver cannot be used; correct it, it is read again",
                       {{"receiver", receiver_.name}, {"cause", why}});
}

net::Exchange Endpoint::post(std::string body, std::map<std::string, std::string, std::less<>> headers,
                             std::function<void(Reply)> on_reply) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = target_path_;
  request.query = target_query_;
  request.headers = std::move(headers);
  request.headers["Content-Type"] = "application/json";
  request.headers["User-Agent"] = "autopilot";
  request.body = std::move(body);
  return session_->send(std::move(request), kDeadline,
                        [on_reply = std::move(on_reply), name = receiver_.name](
                            const Result<net::HttpResponse>& response) { on_reply(judge(response, name)); });
}

}  // namespace autopilot::alerts
