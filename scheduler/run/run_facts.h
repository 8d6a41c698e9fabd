#pragma once

// The facts of kind `host` and `run`: on which machine a master ran, when, by whom, and which
// version of detol. Nothing else of the environment or the command line is kept. The machines of
// workers that were started elsewhere are not known here.
//
//   {"name":"node7","cpu":"AMD EPYC 9654","cores":192,"gpus":["NVIDIA H100"],"memory":810000000000}
//   {"study":"fashion-cnn","at":1700000000.25,"command":"search","version":"1.4.0","user":"ada",
//    "host":"0123456789abcdef","backend":"cpu","workers":8}

#include <string>
#include <vector>

#include "knowledge/facts.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// Returns the facts of this machine and of a run of the study that begins on it at `at_s`, seconds
// since 1970.
std::vector<Fact> run_facts(const RunOptions& options, const std::string& study, double at_s);

}  // namespace detol::inline scheduler
