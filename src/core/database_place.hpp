// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// A database is named by the path of a file, or by a connection string of PostgreSQL, which can contain a
// password.
namespace autopilot {

// "postgresql://...", "postgres://..." or keywords such as "host=db dbname=fleet", known or not: also what
// libpq would refuse, because it can contain a password. Anything else is a path; "./host=x" too.
[[nodiscard]] bool is_postgres(std::string_view place);

// For messages, logs and answers. A path is unchanged. Of a connection string only the user, the hosts with
// their ports, and the database: "postgresql://agent@db:5432/fleet"; "postgresql://" alone if the string is
// malformed, because a part of a password can be anywhere in it.
[[nodiscard]] std::string printable_place(std::string_view place);

// Of a connection string: false if libpq would refuse it, or would read a part of a password that is not
// percent-encoded as a host, a port or a database.
[[nodiscard]] bool is_well_formed_postgres(std::string_view place);

}  // namespace autopilot
