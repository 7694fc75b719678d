// SPDX-License-Identifier: Apache-2.0
// What tests and commands read besides.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "precompiled.h"
