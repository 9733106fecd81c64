// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_cluster.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstddef>
#include <utility>

namespace autopilot::fakes {

namespace json = boost::json;

namespace {

// RFC 7396
void merge(json::value& into, const json::value& patch) {
  if (!patch.is_object()) {
    into = patch;
    return;
  }
  if (!into.is_object()) into = json::object{};
  for (const auto& member : patch.as_object()) {
    if (member.value().is_null())
      into.as_object().erase(member.key());
    else
      merge(into.as_object()[member.key()], member.value());
  }
}

// What a JSON pointer names; a member that is missing is made.
json::value& place(json::value& root, const std::string& pointer) {
  json::value* here = &root;
  for (std::size_t from = 1; from <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', from), pointer.size());
    const std::string name = pointer.substr(from, end - from);
    if (here->is_null()) *here = json::object{};
    here = here->is_array() ? &here->as_array().at(std::stoul(name)) : &here->as_object()[name];
    from = end + 1;
  }
  return *here;
}

std::string version_of(json::value& object) {
  const json::value& version = place(object, "/metadata/resourceVersion");
  return version.is_string() ? std::string(version.as_string()) : std::string();
}

net::HttpResponse none() {
  return net::error_response(404, "not_found", "there is none");
}

}  // namespace

FakeCluster::FakeCluster(net::EventLoop& loop)
    : loop_(loop), server_(loop, {.body_bytes = std::size_t{1} << 20}) {
  port_ = server_.listen_tcp("127.0.0.1:0").value();
}

void FakeCluster::serve(const std::string& list) {
  server_.route("GET", list + "/{name}", act(&FakeCluster::get));
  server_.route("POST", list, act(&FakeCluster::create));
  server_.route("PATCH", list + "/{name}", act(&FakeCluster::patch));
}

std::unique_ptr<kube::Client> FakeCluster::client() const {
  return std::make_unique<kube::Client>(
      loop_, net::ServerUrl{false, "127.0.0.1", port_, ""},
      kube::ClientOptions{
          .user_agent = "test", .field_manager = "test", .deadline = std::chrono::seconds{5}});
}

void FakeCluster::put(const std::string& path, const std::string& json) {
  json::value object = json::parse(json);
  place(object, "/metadata/resourceVersion") = std::to_string(++version_);
  objects[path] = json::serialize(object);
}

std::string FakeCluster::text_at(const std::string& path, const std::string& pointer) const {
  const auto found = objects.find(path);
  json::value object = found == objects.end() ? json::value{} : json::parse(found->second);
  const json::value& named = place(object, pointer);
  return named.is_string() ? std::string(named.as_string()) : "";
}

net::Handler FakeCluster::act(Act how) {
  return [this, how](const net::HttpRequest& request, net::Responder responder) {
    if (is_silent) return kept_.push_back(std::move(responder));
    if (const auto refused = refusals.find(request.method); refused != refusals.end())
      return responder.respond(net::error_response(refused->second, "refused", "no such right"));
    (this->*how)(request, std::move(responder));
  };
}

void FakeCluster::get(const net::HttpRequest& request, net::Responder responder) {
  const auto found = objects.find(request.path);
  responder.respond(found == objects.end() ? none() : net::HttpResponse{.body = found->second});
}

void FakeCluster::create(const net::HttpRequest& request, net::Responder responder) {
  json::value object = json::parse(request.body);
  const std::string path = request.path + "/" + std::string(place(object, "/metadata/name").as_string());
  if (objects.contains(path)) return responder.respond(net::error_response(409, "conflict", "it exists"));
  keep("POST", path, request.body, std::move(responder));
}

void FakeCluster::patch(const net::HttpRequest& request, net::Responder responder) {
  const auto found = objects.find(request.path);
  if (found == objects.end()) return responder.respond(none());
  json::value changed = json::parse(found->second);
  const std::string version = version_of(changed);
  const json::value body = json::parse(request.body);
  if (body.is_array())
    for (const json::value& step : body.as_array())
      place(changed, std::string(step.at("path").as_string())) = step.at("value");
  else
    merge(changed, body);
  if (version_of(changed) != version)
    return responder.respond(net::error_response(409, "conflict", "it has changed"));
  keep("PATCH", request.path, json::serialize(changed), std::move(responder));
}

void FakeCluster::keep(const std::string& method, const std::string& path, const std::string& json,
                       net::Responder responder) {
  put(path, json);
  writes.push_back(method + " " + path);
  responder.respond(net::HttpResponse{.body = objects.at(path)});
}

}  // namespace autopilot::fakes
