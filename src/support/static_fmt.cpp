// SPDX-License-Identifier: Apache-2.0
// The functions of fmt, for programs that carry everything inside. Its headers declare them for a
// shared library; this file includes their bodies and asks for the templates that are used.
#include <fmt/format-inl.h>

template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template char fmt::detail::decimal_point_impl<char>(locale_ref);
template auto fmt::detail::thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
