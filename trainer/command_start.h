#pragma once

// How the program of a trial is started: its words, and what its environment says (command.h).

#include "encodings/study/study_config.h"
#include "trainer/evaluator.h"
#include "trainer/programs/program.h"

namespace detol::inline trainer {

inline constexpr const char* kReportFile = "report.jsonl";  // in the trial's folder

struct ProgramShape {
  int ranks = 1;
  int threads = 1;  // of all ranks together
};

// Reads the environment of this process, which no other thread may change meanwhile.
ProgramStart program_start(const StudyConfig& config, ProgramShape shape, const Job& job);

}  // namespace detol::inline trainer
