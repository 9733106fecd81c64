# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

import support  # noqa: F401  (makes the lints importable)

import coroutines

HARMLESS = [
    "auto x = co_await f(a);",
    "co_return co_await f(std::move(agg));",
    "if (co_await f(x)) { y(); }",
    "if (auto r = co_await f(x); !r) { co_return; }",
    "while (co_await f()) {\n  g({1, 2});\n}",
    "for (;;) { co_await f(); }",
    "Agg a{.name = s}; co_await f(a);",
    "const auto body = std::string(\"{x}\"); co_await f(\"{json}\");",
    "co_await f(values[i]);",
    "co_await f(a);\nauto later = [a] { return a; };",
    "net::awaitable<void> run(int a) {\n  co_await f(a);\n}",
    "net::awaitable<std::map<int, int>> run() const {\n  co_await f(a);\n}",
    "struct A { int x = 0; };\nvoid g() { co_await f(); }",
    "// co_await f({x})\nint x = 0;",
    "auto aw = f(Agg{s});\nco_await std::move(aw);",
    "switch (co_await f()) { case 1: co_await g(); break; }",
    "co_await f([](int x) { return x; });",
    "int big = 1'000'000; co_await f(big, 'x');",
]
FAULTY = [
    "co_await f(Agg{.name = s});",
    "co_await f({.name = s});",
    "co_await f({});",
    "auto r = co_await f(\n    Agg{\n        s});",
    "co_await g(h(Agg{s}));",
    "co_await f([s] { return s; });",
    "co_await f([&] { return 1; });",
    "co_await f([this](int x) { return x; });",
    "const Agg r{co_await f()};",
    "use(Agg{s}, co_await f());",
    "if (co_await f({1, 2})) { y(); }",
    "co_return Agg{co_await f()};",
]


def wrapped(statement: str) -> str:
    return "net::awaitable<void> body() {\n" + statement + "\n}\n"


class Coroutines(unittest.TestCase):
    def test_harmless_statements_pass(self):
        for statement in HARMLESS:
            with self.subTest(statement):
                self.assertEqual([], coroutines.check(Path("src/net/a.cpp"), wrapped(statement)))

    def test_faulty_statements_are_found(self):
        for statement in FAULTY:
            with self.subTest(statement):
                self.assertEqual(1, len(coroutines.check(Path("src/net/a.cpp"), wrapped(statement))))

    def test_the_line_is_that_of_the_await(self):
        self.assertEqual(["src/net/a.cpp:3: braces in a statement with co_await; name it on the line before"],
                         coroutines.check(Path("src/net/a.cpp"), wrapped("int x = 0;\nco_await f({x});")))

    def test_no_coroutine_outside_net(self):
        for keyword in ("co_await f();", "co_return;", "co_yield 1;"):
            with self.subTest(keyword):
                self.assertEqual(1, len(coroutines.check(Path("src/agent/a.cpp"), wrapped(keyword))))
        self.assertEqual([], coroutines.check(Path("src/agent/a.cpp"), '// co_await\nauto x = "co_await";\n'))


if __name__ == "__main__":
    unittest.main()
