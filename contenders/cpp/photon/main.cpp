// PhotonLibOS: threads of Photon's, each created where its maker runs and moved to the next vCPU of
// a pool.
#include <photon/common/alog.h>

#include "palio.hpp"
#include "runtime.hpp"
#include "tcp.hpp"
#include "workloads/blocking/rows.hpp"

namespace {

using contender::Runtime;

const palio::blocking::Rows sockets = {
    {"tcp_ping_pong", [](palio::Request& r) {
         return palio::tcp::prepare(r, palio::blocking::inside<Runtime>(r, contender::tcp_ping_pong));
     }},
};

}  // namespace

int main(int argc, char** argv) {
    namespace rows = palio::blocking;
    // Its log would be on standard output, and have a few lines for every start of a pool.
    default_logger.log_output = log_output_stderr;
    set_log_output_level(ALOG_WARN);
    return palio::serve(
        {
            .id = "photon",
            .runtime = "PhotonLibOS",
            // Neither has a number.
            .version = "headers " PALIO_HEADERS ", library " PALIO_LIBRARY,
            // The other trees have more tasks at a time than a process may have mappings.
            .workloads = rows::together({rows::only({"matmul"}, rows::forking<Runtime>()), rows::spawning<Runtime>(),
                                         rows::starting_and_stopping<Runtime>(), sockets}),
        },
        argc, argv);
}
