// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/fan_out_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace autopilot::compat::ibm_autopilot {

namespace json = boost::json;

namespace {

json::object failed(const std::string& why) {
  return {{"statuses", {"Connection to Server Failed"}}, {"error", why}};
}

json::object answer_of(const NodeReply& reply) {
  if (!reply.body) return failed(reply.body.error().what);
  boost::system::error_code error;
  json::value said = json::parse(*reply.body, error);
  if (error || !said.is_object() || !said.as_object().contains("checks"))
    return failed("its answer is not of the form that was asked for");
  return std::move(said).as_object();
}

json::object object_of(const NodeReply& reply) {
  json::object object = answer_of(reply);
  object["node"] = reply.peer.node;
  object["address"] = reply.peer.address;
  object["url"] = reply.url;
  return object;
}

}  // namespace

std::string to_json(const NodeReply& reply) {
  return json::serialize(object_of(reply));
}

std::string no_replies(const Error& why) {
  return json::serialize(json::object{{"nodes", json::array{}}, {"error", why.what}});
}

std::string to_json(const std::vector<NodeReply>& replies, Duration took, const std::string& network) {
  json::array nodes;
  for (const NodeReply& reply : replies)
    nodes.push_back(object_of(reply));
  json::object object{{"nodes", std::move(nodes)}, {"runtimeSeconds", to_seconds(took)}};
  boost::system::error_code error;
  if (json::value said = json::parse(network, error); !error) object["checks"] = json::array{std::move(said)};
  return json::serialize(object);
}

}  // namespace autopilot::compat::ibm_autopilot
