// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "support/check.h"
#include "tenon/tenon.h"

namespace tenon::api {

// The public face has one exception; a bug of ours says that it is one.
template <class F>
auto guarded(const F& fn) {
  try {
    return fn();
  } catch (const UserError& e) {
    throw Error(e.what());
  } catch (const InternalError& e) {
    throw Error(std::string("internal error: ") + e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    throw Error(e.what());
  }
}

}  // namespace tenon::api
