// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.hpp"

#include <boost/json.hpp>
#include <utility>

#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

ApiError not_a(const char* what, const ApiPath& list) {
  ApiError told;
  told.error = {Errc::malformed, list.path + ": the response is not a " + what + " of objects"};
  told.verdict = judge_error(told.error.code);
  return told;
}

// The error in the Status object that ends a watch.
ApiError error_of(const json::object& status, const ApiPath& list) {
  ApiError told;
  told.status = static_cast<int>(number_at(status, {"code"}).value_or(0));
  told.reason = text_at(status, {"reason"});
  told.verdict = judge_status(told.status, "");
  told.error = {code_of(told.verdict.outcome), list.path + ": " + std::string(text_at(status, {"message"}))};
  return told;
}

}  // namespace

Watch::Watch(net::EventLoop& loop, Client& client, WatchOptions options, WatchEvents events,
             std::function<double()> random)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      events_(std::move(events)),
      random_(std::move(random)) {}

void Watch::start() {
  list_when_allowed();
}

void Watch::list_when_allowed() {
  if (list_again_.is_active()) {
    wants_list_ = true;
    return;
  }
  wants_list_ = false;
  list_again_ = loop_.after(options_.between_lists, [this] {
    if (wants_list_) list_when_allowed();
  });
  ++lists_;
  is_first_page_ = true;
  list_page("");
}

void Watch::list_page(const std::string& from) {
  ApiPath path = options_.list;
  path.query["limit"] = std::to_string(options_.page);
  if (!from.empty())
    path.query["continue"] = from;
  else if (!is_exact_ && !options_.is_exact)
    path.query["resourceVersion"] = "0";
  exchange_ = client_.get(std::move(path), [this](const ApiResult<std::string>& page) { take_page(page); });
}

void Watch::take_page(const ApiResult<std::string>& page) {
  if (!page) {
    // The server no longer has the rest of the list: starts over with the newest version.
    if (page.error().verdict.next == ApiNext::list_again) is_exact_ = true;
    retry(page.error(), [this] { list_when_allowed(); });
    return;
  }
  const auto list = parse_object(*page);
  const json::array* items = list ? array_at(*list, {"items"}) : nullptr;
  if (items == nullptr) {
    retry(not_a("list", options_.list), [this] { list_when_allowed(); });
    return;
  }
  if (std::exchange(is_first_page_, false)) events_.on_list_begin();
  for (const json::value& item : *items)
    if (const json::object* object = item.if_object()) events_.on_listed({*object});
  const std::string rest(text_at(*list, {"metadata", "continue"}));
  if (!rest.empty()) {
    list_page(rest);
    return;
  }
  version_ = text_at(*list, {"metadata", "resourceVersion"});
  is_exact_ = false;
  is_synced_ = true;
  back_off_.reset();
  events_.on_list_end();
  follow();
}

void Watch::follow() {
  ApiPath path = options_.list;
  path.query["resourceVersion"] = version_;
  path.query["allowWatchBookmarks"] = "true";
  // Spreads clients over the last half of the interval.
  const double part = 0.5 + random_() / 2;
  const auto serve = std::chrono::duration_cast<std::chrono::seconds>(options_.serve * part);
  path.query["timeoutSeconds"] = std::to_string(serve.count());
  ++watches_;
  has_news_ = false;
  exchange_ = client_.watch(std::move(path), options_.silence,
                            {[this](std::string_view line) { take_line(line); },
                             [this](const std::optional<ApiError>& why) { take_end(why); }});
}

void Watch::take_line(std::string_view line) {
  if (!exchange_.is_active()) return;
  const auto event = parse_object(line);
  const json::object* object = event ? object_at(*event, {"object"}) : nullptr;
  if (object == nullptr) {
    give_up_on_watch(not_a("event", options_.list));
    return;
  }
  const std::string_view type = text_at(*event, {"type"});
  if (type == "ERROR") {
    give_up_on_watch(error_of(*object, options_.list));
    return;
  }
  has_news_ = true;
  version_ = text_at(*object, {"metadata", "resourceVersion"});
  if (type == "ADDED" || type == "MODIFIED")
    events_.on_changed({*object});
  else if (type == "DELETED")
    events_.on_removed({*object});
  else if (type == "BOOKMARK")
    events_.on_current();
}

void Watch::give_up_on_watch(const ApiError& why) {
  exchange_.cancel();
  take_end(why);
}

// Starts the next step in a new turn of the loop: the current call can still be within the exchange that
// ended.
void Watch::take_end(const std::optional<ApiError>& why) {
  if (has_news_ || !why) back_off_.reset();
  if (why && why->verdict.next == ApiNext::list_again) {
    is_exact_ = true;
    pause_ = loop_.after(Duration{0}, [this] { list_when_allowed(); });
  } else if (why) {
    retry(*why, [this] { follow(); });
  } else {
    pause_ = loop_.after(Duration{0}, [this] { follow(); });
  }
}

void Watch::retry(const ApiError& error, std::function<void()> step) {
  events_.on_problem(error);
  const Duration pause = back_off_.fail(options_.back_off, random_(), error.verdict.retry_after);
  pause_ = loop_.after(pause, std::move(step));
}

}  // namespace autopilot::kube
