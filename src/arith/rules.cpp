// SPDX-License-Identifier: Apache-2.0
#include "arith/rules.h"

namespace tenon::arith {
namespace {

constexpr RuleDomain kAny = RuleDomain::kAny;
constexpr RuleDomain kInt = RuleDomain::kInt;
constexpr RuleDomain kIndex = RuleDomain::kIndex;
constexpr RuleDomain kFloat = RuleDomain::kFloat;

// Rules that need only an interval (min(x, y) -> x if x <= y) are not here: see simplify_compare.cpp.
// clang-format off
constexpr Rule kRules[] = {
    // minimum and maximum. Of floats the order of operands matters: a NaN on the right is passed over.
    {"min(x, x)",                         "x",                        kAny},
    {"max(x, x)",                         "x",                        kAny},
    {"min(x, min(x, y))",                 "min(x, y)",                kInt},
    {"max(x, max(x, y))",                 "max(x, y)",                kInt},
    {"min(x, max(x, y))",                 "x",                        kInt},
    {"max(x, min(x, y))",                 "x",                        kInt},
    {"min(min(x, c0), c1)",               "min(x, min(c0, c1))",      kInt},
    {"max(max(x, c0), c1)",               "max(x, max(c0, c1))",      kInt},
    {"min(max(x, c0), c1)",               "c1",                       kInt,   "c1 <= c0"},
    {"max(min(x, c0), c1)",               "c1",                       kInt,   "c0 <= c1"},
    {"min(max(x, y), max(x, z))",         "max(x, min(y, z))",        kInt},
    {"max(min(x, y), min(x, z))",         "min(x, max(y, z))",        kInt},
    {"min(x + z, y + z)",                 "min(x, y) + z",            kIndex},
    {"max(x + z, y + z)",                 "max(x, y) + z",            kIndex},
    {"min(x - z, y - z)",                 "min(x, y) - z",            kIndex},
    {"max(x - z, y - z)",                 "max(x, y) - z",            kIndex},
    {"min(z - x, z - y)",                 "z - max(x, y)",            kIndex},
    {"max(z - x, z - y)",                 "z - min(x, y)",            kIndex},
    {"min(x * c0, y * c0)",               "min(x, y) * c0",           kIndex, "0 < c0"},
    {"max(x * c0, y * c0)",               "max(x, y) * c0",           kIndex, "0 < c0"},
    {"min(x * c0, y * c0)",               "max(x, y) * c0",           kIndex, "c0 < 0"},
    {"max(x * c0, y * c0)",               "min(x, y) * c0",           kIndex, "c0 < 0"},
    {"min(x // c0, y // c0)",             "min(x, y) // c0",          kIndex, "0 < c0"},
    {"max(x // c0, y // c0)",             "max(x, y) // c0",          kIndex, "0 < c0"},

    // select
    {"select(p, x, x)",                   "x",                        kAny},
    {"select(!p, x, y)",                  "select(p, y, x)",          kAny},
    {"select(p, select(p, x, y), z)",     "select(p, x, z)",          kAny},
    {"select(p, x, select(p, y, z))",     "select(p, x, z)",          kAny},
    {"select(p, select(q, x, y), y)",     "select(p && q, x, y)",     kAny},
    {"select(p, x, select(q, x, y))",     "select(p || q, x, y)",     kAny},
    {"select(p, true, false)",            "p",                        kAny},
    {"select(p, false, true)",            "!p",                       kAny},
    {"select(p, q, false)",               "p && q",                   kAny},
    {"select(p, true, q)",                "p || q",                   kAny},
    {"select(x < y, x, y)",               "min(x, y)",                kInt},
    {"select(x <= y, x, y)",              "min(x, y)",                kInt},
    {"select(x < y, y, x)",               "max(x, y)",                kInt},
    {"select(x <= y, y, x)",              "max(x, y)",                kInt},
    {"select(x == y, x, y)",              "y",                        kInt},
    {"select(x == y, y, x)",              "x",                        kInt},
    {"select(x != y, x, y)",              "x",                        kInt},
    {"select(x != y, y, x)",              "y",                        kInt},
    {"select(p, x + z, y + z)",           "select(p, x, y) + z",      kIndex},
    {"select(p, x + z, z)",               "select(p, x, 0) + z",      kIndex},
    {"select(p, z, x + z)",               "select(p, 0, x) + z",      kIndex},
    {"select(p, x * c0, y * c0)",         "select(p, x, y) * c0",     kIndex},

    // logic
    {"p && p",                            "p",                        kAny},
    {"p || p",                            "p",                        kAny},
    {"p && !p",                           "false",                    kAny},
    {"!p && p",                           "false",                    kAny},
    {"p || !p",                           "true",                     kAny},
    {"!p || p",                           "true",                     kAny},
    {"p && (p && q)",                     "p && q",                   kAny},
    {"p && (q && p)",                     "p && q",                   kAny},
    {"(p && q) && p",                     "p && q",                   kAny},
    {"(p && q) && q",                     "p && q",                   kAny},
    {"p || (p || q)",                     "p || q",                   kAny},
    {"p || (q || p)",                     "p || q",                   kAny},
    {"(p || q) || p",                     "p || q",                   kAny},
    {"(p || q) || q",                     "p || q",                   kAny},
    {"p && (p || q)",                     "p",                        kAny},
    {"(p || q) && p",                     "p",                        kAny},
    {"p || (p && q)",                     "p",                        kAny},
    {"(p && q) || p",                     "p",                        kAny},
    {"(p && q) || (p && r)",              "p && (q || r)",            kAny},
    {"(p || q) && (p || r)",              "p || (q && r)",            kAny},
    {"!(x < y)",                          "y <= x",                   kInt},
    {"!(x <= y)",                         "y < x",                    kInt},
    {"!(x == y)",                         "x != y",                   kAny},
    {"!(x != y)",                         "x == y",                   kAny},
    {"!(!p && !q)",                       "p || q",                   kAny},
    {"!(!p || !q)",                       "p && q",                   kAny},

    // comparisons
    {"x == x",                            "true",                     kInt},
    {"x != x",                            "false",                    kInt},
    {"x < x",                             "false",                    kInt},
    {"x <= x",                            "true",                     kInt},
    {"min(x, y) <= x",                    "true",                     kInt},
    {"x <= max(x, y)",                    "true",                     kInt},
    {"x < min(x, y)",                     "false",                    kInt},
    {"max(x, y) < x",                     "false",                    kInt},
    {"x < max(x, y)",                     "x < y",                    kInt},
    {"min(x, y) < x",                     "y < x",                    kInt},
    {"x <= min(x, y)",                    "x <= y",                   kInt},
    {"max(x, y) <= x",                    "y <= x",                   kInt},
    {"min(x, c0) < c1",                   "x < c1",                   kInt,   "c1 <= c0"},
    {"min(x, c0) <= c1",                  "x <= c1",                  kInt,   "c1 < c0"},
    {"c1 < min(x, c0)",                   "c1 < x",                   kInt,   "c1 < c0"},
    {"c1 <= min(x, c0)",                  "c1 <= x",                  kInt,   "c1 <= c0"},
    {"max(x, c0) < c1",                   "x < c1",                   kInt,   "c0 < c1"},
    {"max(x, c0) <= c1",                  "x <= c1",                  kInt,   "c0 <= c1"},
    {"c1 < max(x, c0)",                   "c1 < x",                   kInt,   "c0 <= c1"},
    {"c1 <= max(x, c0)",                  "c1 <= x",                  kInt,   "c0 < c1"},
    {"select(p, c0, c1) == c0",           "p",                        kInt,   "c0 != c1"},
    {"select(p, c0, c1) == c1",           "!p",                       kInt,   "c0 != c1"},
    {"select(p, c0, c1) != c0",           "!p",                       kInt,   "c0 != c1"},
    {"select(p, c0, c1) != c1",           "p",                        kInt,   "c0 != c1"},
    {"x // c0 < c1",                      "x < c0 * c1",              kIndex, "0 < c0"},
    {"x // c0 <= c1",                     "x < c0 * (c1 + 1)",        kIndex, "0 < c0"},
    {"c1 < x // c0",                      "c0 * (c1 + 1) <= x",       kIndex, "0 < c0"},
    {"c1 <= x // c0",                     "c0 * c1 <= x",             kIndex, "0 < c0"},

    // division that truncates
    {"x / c0",                            "x // c0",                  kIndex, "0 < c0 && 0 <= x"},

    // floats: only what cannot change the value. x + 0 stays because of -0.
    {"x * 1",                             "x",                        kFloat},
    {"x / 1",                             "x",                        kFloat},
    {"x - 0",                             "x",                        kFloat},
};
// clang-format on

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace tenon::arith
