// The contender's side of the contract (docs/protocol.md) for C++: arguments, clock, resource
// usage, printing.
//
// A contender's main is one call of palio::serve with who it is and what it can run; see
// ../README.md. Nothing beyond the standard library and POSIX is needed.
#pragma once

#include "palio/contender.hpp"
#include "palio/forks.hpp"
#include "palio/refusal.hpp"
#include "palio/request.hpp"
#include "palio/serve.hpp"
#include "palio/work.hpp"
