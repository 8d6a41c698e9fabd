#pragma once

// How many reports a master makes durable and answers, for `detol bench ledger`: the driver, the
// messages and the database of a search, with peers that train nothing, on the same machine. By the
// wall clock: wants a quiet machine.
//
//   reports/peers=P   1/s   P connections, each with one report in flight, by the wall clock
//   master/peers=P    us    CPU time of the master's thread per report

#include "bench/figures.h"

namespace detol::inline bench {

// Measures what `figures` wants, in a folder below the current one, which it removes: the speed is
// that of the disk that searches use.
void bench_ledger(Figures& figures);

}  // namespace detol::inline bench
