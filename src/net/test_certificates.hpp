// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "host/files/test_folder.hpp"
#include "net/test_program.hpp"

namespace autopilot::net::testing {

// Keys and certificates in a temporary folder, made by openssl: <name>.key and <name>.crt.
class TestCertificates {
 public:
  void make_authority(const std::string& name) const {
    run(new_one(name, {"-addext", "basicConstraints=critical,CA:TRUE"}));
  }
  // further: more arguments for `openssl req`.
  void make(const std::string& name, const std::string& authority,
            std::vector<std::string> further = {}) const {
    further.insert(further.end(), {"-CA", path(authority + ".crt"), "-CAkey", path(authority + ".key")});
    run(new_one(name, further));
  }
  // The serving certificate of a node's agent.
  void make_node(const std::string& node, const std::string& authority) const {
    make(node, authority, {"-addext", "subjectAltName=DNS:" + node});
  }
  // A certificate that expired: valid for one day, starting two days ago.
  void make_expired(const std::string& name, const std::string& authority) const {
    run({"openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
         "/CN=" + name, "-addext", "subjectAltName=DNS:" + name, "-out", path(name + ".csr"), "-keyout",
         path(name + ".key")});
    run({"openssl", "x509", "-req", "-days", "-1", "-in", path(name + ".csr"), "-copy_extensions", "copy",
         "-CA", path(authority + ".crt"), "-CAkey", path(authority + ".key"), "-out", path(name + ".crt")});
  }
  // Encrypts the key with a passphrase.
  void lock_key(const std::string& name) const {
    run({"openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", path(name + ".key"), "-out",
         path(name + ".locked")});
    run({"mv", path(name + ".locked"), path(name + ".key")});
  }

  [[nodiscard]] std::string folder() const { return folder_.path(); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(path(name)).rdbuf();
    return all.str();
  }

 private:
  static void run(std::vector<std::string> words) { static_cast<void>(run_program(std::move(words))); }
  [[nodiscard]] std::vector<std::string> new_one(const std::string& name,
                                                 const std::vector<std::string>& further) const {
    std::vector<std::string> words{"openssl",
                                   "req",
                                   "-x509",
                                   "-new",
                                   "-newkey",
                                   "ec",
                                   "-pkeyopt",
                                   "ec_paramgen_curve:P-256",
                                   "-nodes",
                                   "-subj",
                                   "/CN=" + name,
                                   "-days",
                                   "1",
                                   "-out",
                                   path(name + ".crt"),
                                   "-keyout",
                                   path(name + ".key")};
    words.insert(words.end(), further.begin(), further.end());
    return words;
  }

  host::TestFolder folder_;
};

}  // namespace autopilot::net::testing
