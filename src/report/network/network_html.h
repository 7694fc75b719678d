// SPDX-License-Identifier: Apache-2.0
// A network as a picture: a box per step from top to bottom in the order of running, coloured by the layout of what it
// writes; lines are tensors, conversions stand out with what they cost. Needs no script.
#pragma once

#include <string>

#include "report/network/network.h"

namespace tenon::report {

// Legend, picture and list of conversions, for inside of a page.
std::string network_html(const Network& n);
// A page of its own.
std::string network_page(const Network& n);

}  // namespace tenon::report
