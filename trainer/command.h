#pragma once

// A program of the user (encodings/study/command.h) as an evaluator. Of a trial's folder it has
//
//   report.jsonl   what the program reports (trainer/programs/report_lines.h); DETOL_REPORT
//   output.log     what it prints, the first 16 MB of each attempt
//   checkpoint     where the program may write its own, a file or a folder; DETOL_CHECKPOINT
//   network.json, network.py, network.onnx
//                  of a study with networks: which one the program trains, written before it starts
//                  and the same in every attempt; the last where an argument names it.
//                  DETOL_NETWORK_JSON, DETOL_NETWORK_PY, DETOL_NETWORK_ONNX
//
// The program's environment has DETOL_STUDY, DETOL_TRIAL, DETOL_TRIAL_DIR, DETOL_PARAMS (a JSON
// object), DETOL_SEED, DETOL_BUDGET_EPOCHS (the steps of a whole trial; empty: none are said),
// DETOL_REPORT, DETOL_CHECKPOINT, and OMP_NUM_THREADS where that is not set: the cores for each of
// resources.workers, 1 if these are not said.
//
// The trial is complete when the program ends with an exit code of success, having reported; the
// report of the last of command.steps is held back until then. A report with an objective that is
// no finite number fails it as diverged, another end as crashed, an end without a report as
// invalid. To stop it, it gets command.stop.signal, after the grace SIGKILL.

#include <memory>

#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Checks that the program is there. Errors (kInput).
Result<DatasetInfo> inspect_command(const StudyConfig& config);

// Makes the evaluator of a study whose config has a command.
Result<std::unique_ptr<Evaluator>> make_command(const StudyConfig& config,
                                                const TrainerOptions& options);

}  // namespace detol::inline trainer
