// A row that forks, for the table of a contender.
#pragma once

#include "palio.hpp"

// The row `family` on `function`, which contenders run by a function `inside` of theirs. It is made
// twice, with and without a count of what is forked.
#define PALIO_FORKING(family, function)                                                         \
    {#family, [](palio::Request& r) {                                                           \
         return r.prepare_forks([&](auto forks) {                                               \
             return palio::family::prepare(r, inside(r, function<decltype(forks)>));            \
         });                                                                                    \
     }}
