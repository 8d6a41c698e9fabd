#pragma once

// StudyRecord: what the knowledge base keeps of a study, beside its events.

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/space/trial.h"
#include "knowledge/states.h"

namespace detol::inline knowledge {

using StudyId = std::int64_t;

struct StudyRecord {
  StudyId id = 0;  // given by create_study
  std::string name;
  std::string config;  // StudyConfig::text in force; a resume may widen its space
  std::string budget;  // in force; a resume may extend it
  std::uint64_t data_fingerprint = 0;
  std::vector<Objective> objectives;
  double created_s = 0;  // seconds since 1970
  StudyPhase state = StudyPhase::kRunning;
  std::string begun_with = {};  // the text at its creation; empty: `config`

  const std::string& first_config() const { return begun_with.empty() ? config : begun_with; }
};

}  // namespace detol::inline knowledge
