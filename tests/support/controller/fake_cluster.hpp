// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller::testing {

// An API server for tests: stores objects, refuses writes of old versions, evicts pods, and keeps watches
// open. It can stop answering in the middle of a write, as for a client that is killed.
class FakeCluster {
 public:
  static inline const std::string kNodes = "/api/v1/nodes";
  static inline const std::string kPods = "/api/v1/pods";
  static inline const std::string kApis = "/apis/autopilot.ibm.com/v1alpha1/namespaces/";
  static inline const std::string kAllJobReports = "/apis/autopilot.ibm.com/v1alpha1/jobhealthreports";
  static inline const std::string kMaps = "/api/v1/namespaces/autopilot/configmaps/";
  static inline const std::string kOurs = "/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/";

  explicit FakeCluster(net::EventLoop& loop) : server_(loop, {}) {
    serve_list(kNodes);
    serve_list(kPods);
    serve_list("/api/v1/namespaces/{space}/pods");
    serve_list("/api/v1/namespaces/{space}/events");
    serve_list("/api/v1/namespaces/{space}/configmaps");
    for (const char* list :
         {"/apis/batch/v1/namespaces/{space}/jobs",
          "/apis/kueue.x-k8s.io/v1beta1/namespaces/{space}/workloads",
          "/apis/autopilot.ibm.com/v1alpha1/namespaces/{space}/jobhealthreports", kAllJobReports.c_str()})
      serve_list(list);
    for (const char* kind :
         {"nodehealthreports", "healthcheckreports", "remediationplans", "remediationrequests"})
      serve_list(kOurs + kind);
    server_.route("POST", "/api/v1/namespaces/{space}/pods/{name}/eviction",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    write(request, std::move(responder), [this](const auto& asked) { return evict(asked); });
                  });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }

  [[nodiscard]] net::ServerUrl url() const { return {false, "127.0.0.1", port_, ""}; }

  // A write of another client. Versions and uids are assigned here.
  void put(const std::string& path, boost::json::object object) {
    boost::json::object& meta =
        object["metadata"].is_object() ? object["metadata"].as_object() : object["metadata"].emplace_object();
    meta["name"] = path.substr(path.rfind('/') + 1);
    const auto old = objects_.find(path);
    if (!meta.contains("uid"))
      meta["uid"] = old == objects_.end() ? "uid-" + std::to_string(version_ + 1)
                                          : std::string(text(old->second, {"metadata", "uid"}));
    if (const auto space = path.find("/namespaces/"); space != std::string::npos)
      meta["namespace"] = path.substr(space + 12, path.find('/', space + 12) - space - 12);
    store(path, std::move(object));
  }
  void remove(const std::string& path) {
    const auto found = objects_.find(path);
    if (found == objects_.end()) return;
    boost::json::object object = std::move(found->second);
    objects_.erase(found);
    stamp(object);
    tell("DELETED", path, object);
  }
  // Sends a bookmark to every watch.
  void bookmark() {
    const boost::json::object meta{{"resourceVersion", std::to_string(version_)}};
    for (const Watcher& watcher : std::exchange(watchers_, {})) {
      net::HttpResponse response;
      response.body = boost::json::serialize(boost::json::object{
                          {"type", "BOOKMARK"}, {"object", boost::json::object{{"metadata", meta}}}}) +
                      "\n";
      watcher.responder->respond(std::move(response));
    }
  }
  // Null: missing.
  [[nodiscard]] const boost::json::object* find(const std::string& path) const {
    const auto found = objects_.find(path);
    return found == objects_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::vector<const boost::json::object*> all(const std::string& list) const {
    std::vector<const boost::json::object*> found;
    for (const auto& [path, object] : objects_)
      if (is_in(path, list)) found.push_back(&object);
    return found;
  }
  // "POST /api/v1/...", in order, including refused writes.
  [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }

  // Answers that many more writes, then none. applies: the next write is still executed.
  void fall_silent_after(std::size_t writes, bool applies) {
    left_ = writes;
    applies_last_ = applies;
  }
  [[nodiscard]] bool is_silent() const { return is_silent_; }
  void speak() {
    left_.reset();
    is_silent_ = false;
    silent_.clear();
  }
  std::set<std::string> guarded{};  // paths of pods that a PodDisruptionBudget protects
  // A response instead of executing the write; nullopt: it is executed.
  std::function<std::optional<net::HttpResponse>(const std::string& write)> refuse = [](const std::string&) {
    return std::nullopt;
  };

  // The same, after the write was executed.
  std::function<std::optional<net::HttpResponse>(const std::string& write)> refuse_after =
      [](const std::string&) { return std::nullopt; };
  // Responds as if that kind did not exist.
  void hide(const std::string& kind) { hidden_ = kind; }

  [[nodiscard]] static net::HttpResponse refusal(int status, const std::string& reason,
                                                 const std::string& message) {
    net::HttpResponse response;
    response.status = status;
    response.body = boost::json::serialize(
        boost::json::object{{"kind", "Status"}, {"code", status}, {"reason", reason}, {"message", message}});
    return response;
  }
  using Names = std::initializer_list<std::string_view>;
  // Null: missing.
  [[nodiscard]] static const boost::json::value* value(const boost::json::object& object, Names names) {
    const boost::json::object* here = &object;
    const boost::json::value* found = nullptr;
    for (const std::string_view name : names) {
      found = here == nullptr ? nullptr : here->if_contains(name);
      here = found == nullptr ? nullptr : found->if_object();
    }
    return found;
  }
  [[nodiscard]] static std::string text(const boost::json::object& object, Names names) {
    const boost::json::value* found = value(object, names);
    return found != nullptr && found->is_string() ? boost::json::value_to<std::string>(*found) : "";
  }
  [[nodiscard]] static bool flag(const boost::json::object& object, Names names) {
    const boost::json::value* found = value(object, names);
    return found != nullptr && found->is_bool() && found->get_bool();
  }

 private:
  using Do = std::function<net::HttpResponse(const net::HttpRequest&)>;
  struct Watcher {
    std::string list;
    std::uint64_t since = 0;
    std::shared_ptr<net::Responder> responder;
  };
  struct Change {
    std::uint64_t version = 0;
    std::string path;
    std::string line;
  };

  void serve_list(const std::string& list) {
    server_.route("GET", list, [this](const net::HttpRequest& request, net::Responder responder) {
      read(request, std::move(responder));
    });
    const auto add = [&](const char* method, const std::string& path,
                         net::HttpResponse (FakeCluster::*act)(const net::HttpRequest&)) {
      server_.route(method, path, [this, act](const net::HttpRequest& request, net::Responder responder) {
        write(request, std::move(responder), [this, act](const auto& asked) { return (this->*act)(asked); });
      });
    };
    server_.route("GET", list + "/{name}", [this](const net::HttpRequest& request, net::Responder responder) {
      if (is_silent_) return keep_waiting(std::move(responder));
      const auto* object = find(request.path);
      responder.respond(object == nullptr ? refusal(404, "NotFound", "none") : answer(200, *object));
    });
    add("POST", list, &FakeCluster::create);
    add("PATCH", list + "/{name}", &FakeCluster::patch);
    add("PATCH", list + "/{name}/status", &FakeCluster::patch);
    add("DELETE", list + "/{name}", &FakeCluster::destroy);
  }

  void read(const net::HttpRequest& request, net::Responder responder) {
    if (is_silent_) return keep_waiting(std::move(responder));
    if (!hidden_.empty() && request.path.ends_with(hidden_))
      return responder.respond(refusal(404, "NotFound", "no such kind"));
    if (request.query.contains("watch")) {
      watchers_.push_back({request.path, std::stoull(request.query.at("resourceVersion")),
                           std::make_shared<net::Responder>(std::move(responder))});
      return flush();
    }
    boost::json::array items;
    for (const auto* object : all(request.path))
      items.push_back(*object);
    responder.respond(
        answer(200, {{"metadata", boost::json::object{{"resourceVersion", std::to_string(version_)}}},
                     {"items", items}}));
  }

  void write(const net::HttpRequest& request, net::Responder responder, const Do& act) {
    if (is_silent_) return keep_waiting(std::move(responder));
    const std::string what = request.method + ' ' + request.path;
    writes_.push_back(what);
    if (left_ && *left_ == 0) {
      if (applies_last_) act(request);
      is_silent_ = true;
      return keep_waiting(std::move(responder));
    }
    if (left_) --*left_;
    const auto refused = refuse(what);
    const net::HttpResponse answered = refused ? *refused : act(request);
    const auto hushed = refuse_after(what);
    responder.respond(hushed ? *hushed : answered);
  }

  net::HttpResponse create(const net::HttpRequest& request) {
    auto object = boost::json::parse(request.body).as_object();
    const std::string path = request.path + '/' + text(object, {"metadata", "name"});
    if (find(path) != nullptr) return refusal(409, "AlreadyExists", path + " already exists");
    if (has_status(path)) object.erase("status");
    put(path, std::move(object));
    return answer(201, *find(path));
  }

  net::HttpResponse patch(const net::HttpRequest& request) {
    const bool is_status = request.path.ends_with("/status");
    const std::string path = is_status ? request.path.substr(0, request.path.size() - 7) : request.path;
    const auto* old = find(path);
    if (old == nullptr) return refusal(404, "NotFound", path + " not found");
    auto wanted = boost::json::parse(request.body).as_object();
    const std::string version = text(wanted, {"metadata", "resourceVersion"});
    if (!version.empty() && version != text(*old, {"metadata", "resourceVersion"}))
      return refusal(409, "Conflict", "the object has been modified");
    if (is_status)
      wanted = {{"status", wanted.at("status")}};
    else if (has_status(path))
      wanted.erase("status");
    boost::json::object object = *old;
    merge(object, wanted);
    store(path, std::move(object));
    return answer(200, *find(path));
  }

  net::HttpResponse destroy(const net::HttpRequest& request) {
    return end(request.path, boost::json::parse(request.body).as_object());
  }

  net::HttpResponse evict(const net::HttpRequest& request) {
    const std::string path = request.path.substr(0, request.path.rfind('/'));
    if (guarded.contains(path))
      return refusal(429, "TooManyRequests",
                     "Cannot evict pod as it would violate the pod's disruption budget.");
    return end(path, boost::json::parse(request.body).as_object().at("deleteOptions").as_object());
  }

  net::HttpResponse end(const std::string& path, const boost::json::object& options) {
    const auto* old = find(path);
    if (old == nullptr) return refusal(404, "NotFound", path + " not found");
    const std::string uid = text(options, {"preconditions", "uid"});
    if (!uid.empty() && uid != text(*old, {"metadata", "uid"}))
      return refusal(409, "Conflict", "the UID in the precondition does not match");
    remove(path);
    return answer(200, {{"kind", "Status"}, {"status", "Success"}});
  }

  static void merge(boost::json::object& object, const boost::json::object& wanted) {
    for (const auto& [name, value] : wanted) {
      if (value.is_null()) {
        object.erase(name);
      } else if (value.is_object()) {
        boost::json::value& member = object[name];
        if (!member.is_object()) member.emplace_object();
        merge(member.as_object(), value.as_object());
      } else {
        object[name] = value;
      }
    }
  }

  void store(const std::string& path, boost::json::object object) {
    const bool is_new = !objects_.contains(path);
    stamp(object);
    objects_[path] = object;
    tell(is_new ? "ADDED" : "MODIFIED", path, object);
  }
  void stamp(boost::json::object& object) {
    object["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  }
  void tell(const char* type, const std::string& path, const boost::json::object& object) {
    changes_.push_back(
        {version_, path,
         boost::json::serialize(boost::json::object{{"type", type}, {"object", object}}) + "\n"});
    flush();
  }
  // A watch ends with its events, and its client starts another.
  void flush() {
    if (is_silent_) return;
    std::erase_if(watchers_, [this](const Watcher& watcher) {
      net::HttpResponse response;
      for (const Change& change : changes_)
        if (change.version > watcher.since && is_in(change.path, watcher.list)) response.body += change.line;
      if (response.body.empty()) return false;
      watcher.responder->respond(std::move(response));
      return true;
    });
  }
  void keep_waiting(net::Responder responder) {
    silent_.push_back(std::make_shared<net::Responder>(std::move(responder)));
  }

  // Whether the status is a resource of its own.
  static bool has_status(const std::string& path) {
    return path.find("/jobhealthreports/") == std::string::npos;
  }

  static bool is_in(const std::string& path, const std::string& list) {
    const std::string folder = path.substr(0, path.rfind('/'));
    constexpr std::string_view job_reports = "/jobhealthreports";
    return folder == list ||
           (list == kAllJobReports && folder.starts_with(kApis) && folder.ends_with(job_reports)) ||
           (list == kPods && folder.starts_with("/api/v1/namespaces/") && folder.ends_with("/pods"));
  }
  static net::HttpResponse answer(int status, const boost::json::object& object) {
    net::HttpResponse response;
    response.status = status;
    response.body = boost::json::serialize(object);
    return response;
  }

  net::HttpServer server_;
  std::uint16_t port_ = 0;
  std::map<std::string, boost::json::object> objects_;
  std::uint64_t version_ = 100;
  std::vector<Change> changes_;
  std::vector<Watcher> watchers_;
  std::vector<std::string> writes_;
  std::optional<std::size_t> left_;
  bool applies_last_ = false;
  std::string hidden_;
  bool is_silent_ = false;
  std::vector<std::shared_ptr<net::Responder>> silent_;
};

}  // namespace autopilot::controller::testing
