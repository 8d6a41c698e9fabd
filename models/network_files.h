#pragma once

// Networks that programs of users train: the files that say what they are.

#include "export/export.h"
#include "scheduler/run/study_run.h"

namespace detol::inline models {

// Returns the network of a candidate of a study whose network_task is set, without weights, as
// exports describe it; it takes numbers as they are in the data.
Model untrained_network(const StudyConfig& config, Candidate candidate, const Genome& genome,
                        TrialId trial);

// Writes kNetworkFiles of a trial into the job's folder, those that are not there yet: the exports
// `json` and `pytorch` (the class alone), and where an argument of the command names it `onnx`,
// raw, with initial weights of the job's seed. Errors: kStorage; kExport: it is too large for ONNX.
Result<void> write_network_files(const StudyConfig& config, const Job& job);

// Returns what this program gives to its workers.
TestHooks program_hooks();

}  // namespace detol::inline models
