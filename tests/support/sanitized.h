// SPDX-License-Identifier: Apache-2.0
// Whether the address sanitizer watches: some tests then do less, each says why.
#pragma once

namespace tenon {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tenon
