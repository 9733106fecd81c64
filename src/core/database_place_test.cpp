// SPDX-License-Identifier: Apache-2.0
#include "core/database_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DatabasePlace, a_connection_string_is_not_a_path) {
  for (const char* place : {"postgresql://db/fleet", "postgres://", "host=db dbname=fleet", " dbname = fleet",
                            "service=fleet", "password=x", "sslcertmode=allow", "tcp_user_timeout=1 host=db",
                            "name=x", "postgresql:/agent@db", "PostgreSQL://db", " postgres://db"})
    EXPECT_TRUE(is_postgres(place)) << place;
  for (const char* place : {"", "/var/lib/autopilot/history.db", "history.db", "./host=x", "/data/host=x",
                            "mysql://db", "./postgres:x", "=x", "history of x=y.db"})
    EXPECT_FALSE(is_postgres(place)) << place;
}

TEST(DatabasePlace, prints_who_where_and_which) {
  EXPECT_EQ(printable_place("/var/lib/a b.db"), "/var/lib/a b.db");
  EXPECT_EQ(printable_place("postgres://agent:secret@db:5432/fleet?sslmode=require"),
            "postgresql://agent@db:5432/fleet");
  EXPECT_EQ(printable_place("postgresql://a:secret@h1:1,[::1]:2,h3/fleet"),
            "postgresql://a@h1:1,[::1]:2,h3/fleet");
  EXPECT_EQ(printable_place("postgresql:///fleet?host=/run/postgresql&user=agent&password=secret"),
            "postgresql://agent@/run/postgresql/fleet");
  EXPECT_EQ(printable_place("host=db port=5433 user=agent password='sec\\' ret' dbname=fleet"),
            "postgresql://agent@db:5433/fleet");
  EXPECT_EQ(printable_place("password = secret host = db"), "postgresql://db");
  EXPECT_EQ(printable_place("service=fleet"), "postgresql://");
}

TEST(DatabasePlace, a_password_is_never_printed) {
  for (const char* place : {
           "postgresql://agent:SECRET@db/fleet",
           "postgresql://agent:%53SECRET%40@db/fleet",
           "postgresql://agent:p@SECRET@db/fleet",
           "postgresql://agent:p@SECRET:1@db/fleet",
           "postgresql://agent:12/SECRET@db/fleet",
           "postgresql://agent:SECRET/3@db/fleet",
           "postgresql://agent:p?SECRET@db/fleet",
           "postgresql://agent:p?a/SECRET@db/fleet",
           "postgresql://agent:p#SECRET@db",
           "postgresql://agent:SECRET",
           "postgresql://db/fleet?user=a&password=SECRET",
           "postgresql://db/fleet?password=p@SECRET",
           "postgresql://db/fleet?sslpassword=SECRET&host=db",
           "postgresql://:SECRET@db/fleet",
           "user=agent password=SECRET host=db",
           "user=agent password='p SECRET' host=db",
           "user=agent password='SECRET",
           "user=agent password=p\\ SECRET host=db",
           "user=agent password=p SECRET host=db",
           "password=SECRET",
           "password='p\\\\' SECRET=x host=db",
           "dbname=postgresql://agent:SECRET@db/fleet",
           "host=db dbname='user=a password=SECRET'",
           "postgresql://u@h/db?dbname=postgres://x:SECRET@h/d",
           "postgresql://u@h/db?dbname=postgres%3A%2F%2Fx%3aSECRET%40h%2Fd",
           "postgresql://u@h/db?dbname=password%3DSECRET",
           "sslcertmode=allow password=SECRET",
           "tcp_user_timeout=1 password=SECRET host=db",
           "load_balance_hosts=random password=SECRET",
           "postgresql:/agent:SECRET@db",
           "postgresql:/agent:SECRET@db/fleet?sslmode=require",
           "postgresql:agent:SECRET@db",
           "PostgreSQL://agent:SECRET@db",
           " postgresql://agent:SECRET@db",
       })
    EXPECT_THAT(printable_place(place), Not(HasSubstr("SECRET"))) << place;
}

TEST(DatabasePlace, a_password_that_is_not_encoded_makes_the_string_malformed) {
  EXPECT_TRUE(is_well_formed_postgres("postgresql://agent:p%40ss@db/fleet"));
  EXPECT_TRUE(is_well_formed_postgres("host=db password=p@ss/"));
  EXPECT_FALSE(is_well_formed_postgres("postgresql://agent:p@ss@db/fleet"));
  EXPECT_FALSE(is_well_formed_postgres("postgresql://agent:p/ss@db/fleet"));
  EXPECT_FALSE(is_well_formed_postgres("host=db password='p"));
  EXPECT_FALSE(is_well_formed_postgres("/var/lib/history.db"));
  EXPECT_FALSE(is_well_formed_postgres("postgresql:/agent@db"));
  EXPECT_FALSE(is_well_formed_postgres("postgresql:/agent@db/fleet?sslmode=require"));
  EXPECT_FALSE(is_well_formed_postgres("postgresql://db?dbname=host%3Dx"));
}

TEST(DatabasePlace, a_terminal_gets_no_control_characters) {
  EXPECT_EQ(printable_place("host='\x1b[31m' dbname=x"), "postgresql://?[31m/x");
}

}  // namespace
}  // namespace autopilot
