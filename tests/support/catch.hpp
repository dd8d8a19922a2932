#pragma once
// Catch2, whichever major version the system has.
#if MQCORE_CATCH_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
